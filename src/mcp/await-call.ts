import type { CallRead } from '../protocol/answers/call-answers.ts';
import type { McpCallName, McpGateway } from './mcp-gateway.ts';

/** How long the gateway is asked to wait at a time; a client that has gone is noticed in between. */
const LOOK_MS = 20_000;

/** Returns the call once it is over, however long that takes, or as it stands when the signal aborts. */
export async function awaitCall(
  gateway: Pick<McpGateway, 'readCall'>,
  name: McpCallName,
  signal?: AbortSignal,
): Promise<CallRead> {
  for (;;) {
    const call = await gateway.readCall({ ...name, timeoutMs: LOOK_MS, signal });
    if (call.state !== 'working' || signal?.aborted === true) return call;
  }
}
