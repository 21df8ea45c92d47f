/** Waits end before the client's own limit does: a call that the client gave up looks like a lost message. */
import { WAIT_TIMEOUT_DEFAULT } from '../protocol/tools/tool-limits.ts';
import type { McpToolCall } from './mcp-gateway.ts';

/** Whether the tool waits, unless it is told not to. */
export function isWaitingTool(tool: string): boolean {
  return tool === 'sessions_send' || tool === 'sessions_wait';
}

/** Returns the call with a wait of at most so many seconds. */
export function limitWait(call: McpToolCall, maxSeconds: number): McpToolCall {
  if (!isWaitingTool(call.tool)) return call;
  const { timeoutSeconds = WAIT_TIMEOUT_DEFAULT } = call.args;
  if (typeof timeoutSeconds !== 'number' || timeoutSeconds <= maxSeconds) return call;
  return { ...call, args: { ...call.args, timeoutSeconds: maxSeconds } };
}

/** Adds the call that goes on waiting to the answer of a wait that was cut short. */
export function sayHowToGoOn(
  answer: object,
  { asked, waited }: { asked: McpToolCall; waited: McpToolCall },
): object {
  if (asked === waited) return answer;
  const runIds = openRuns(answer);
  if (runIds.length === 0) return answer;
  const note = `this call waited ${Number(waited.args['timeoutSeconds'])} s, the most that one call may here; go on with sessions_wait ${JSON.stringify({ runIds })}`;
  return { ...answer, note };
}

/** The runs that the answer says are still going. */
function openRuns(answer: object): string[] {
  const { runId, outcome, status, pending } = answer as Record<string, unknown>;
  if (Array.isArray(pending))
    return pending.map((run) => (run as { runId: unknown }).runId).filter(isText);
  return status === 'timeout' && outcome === undefined && isText(runId) ? [runId] : [];
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
