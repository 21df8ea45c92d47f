/** Tells a client that keeps its connection how its tasks end, without being asked. */
import type { CallRead } from '../protocol/answers/call-answers.ts';
import { awaitCall } from './await-call.ts';
import type { McpCallName, McpGateway } from './mcp-gateway.ts';

/** Tasks of one client that are followed at a time; of the others it hears when it asks. */
const MAX_FOLLOWED = 100;

/**
 * Returns what follows a task from now on. What it tells is a hint: a client asks when it has heard of
 * nothing, so that an end of the connection, or of the gateway, ends the following as well.
 */
export function createTaskFollower(
  gateway: Pick<McpGateway, 'readCall'>,
  tell: (call: CallRead) => Promise<void>,
): (name: McpCallName) => void {
  const followed = new Set<string>();
  return (name) => {
    if (followed.size >= MAX_FOLLOWED || followed.has(name.callId)) return;
    followed.add(name.callId);
    awaitCall(gateway, name)
      .then(tell)
      .catch(() => {})
      .finally(() => followed.delete(name.callId));
  };
}
