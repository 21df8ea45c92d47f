/**
 * A deferred call in the words of MCP, of which there are two. In revision 2025-11-25 tasks are part of the
 * protocol, and the client asks for one; since 2026-07-28 they are an extension, and the server decides.
 */
import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import type { ServerContext } from '@modelcontextprotocol/server';
import type { CallRead } from '../protocol/answers/call-answers.ts';
import { WAIT_TIMEOUT_DEFAULT } from '../protocol/tools/tool-limits.ts';
import { isWaitingTool } from './wait-limit.ts';

/** Name of the extension. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
/** What the server says of itself, in both ways. */
export const TASK_CAPABILITIES = {
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [TASKS_EXTENSION]: {} },
};
/** How often a client may look, ms. */
const POLL_INTERVAL_MS = 1000;

/** `asked`: the client wants a task and nothing else. `allowed`: it takes one where the call lasts. */
export type TaskWish = { type: 'asked'; ttlMs?: number } | { type: 'allowed' };

/** Returns what a client says about a task for its call; undefined for one that knows none. */
export function taskWishOf(params: unknown, context: ServerContext): TaskWish | undefined {
  if (speaksExtension(context)) return declaresTasks(context) ? { type: 'allowed' } : undefined;
  const task = field(params, 'task');
  if (typeof task !== 'object' || task === null) return undefined;
  const ttlMs = field(task, 'ttl');
  return typeof ttlMs === 'number' && ttlMs > 0 ? { type: 'asked', ttlMs } : { type: 'asked' };
}

/** Whether the request is of a revision in which tasks are an extension. */
export function speaksExtension({ mcpReq }: ServerContext): boolean {
  return mcpReq.envelope !== undefined;
}

/** Whether it says that its sender takes part in the extension; what other requests said does not count. */
export function declaresTasks({ mcpReq }: ServerContext): boolean {
  const capabilities = field(mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY);
  return field(field(capabilities, 'extensions'), TASKS_EXTENSION) !== undefined;
}

/** Whether a call of this tool, with these arguments, waits for something. */
export function mayBeTask(tool: string, args: Record<string, unknown>): boolean {
  if (!isWaitingTool(tool) || args['mode'] === 'note') return false;
  const { timeoutSeconds = WAIT_TIMEOUT_DEFAULT } = args;
  return timeoutSeconds !== 0;
}

/** Returns the task of revision 2025-11-25. */
export function toTask(call: CallRead) {
  return {
    ...sharedOf(call),
    status: call.state,
    ttl: ttlOf(call),
    pollInterval: POLL_INTERVAL_MS,
  };
}

/** Returns the task of the extension, in which a tool's failure is an answer like others. */
export function toExtensionTask({ result: _answer, ...call }: CallRead) {
  return {
    ...sharedOf(call),
    status: call.state === 'failed' ? ('completed' as const) : call.state,
    ttlMs: ttlOf(call),
    pollIntervalMs: POLL_INTERVAL_MS,
  };
}

function sharedOf(call: CallRead) {
  const statusMessage = messageOf(call);
  return {
    taskId: call.callId,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt: new Date(call.createdAt).toISOString(),
    lastUpdatedAt: new Date(call.updatedAt).toISOString(),
  };
}

function ttlOf({ createdAt, expiresAt }: CallRead): number {
  return expiresAt - createdAt;
}

/** What the model or a person may be shown of its state. */
function messageOf({ state, runIds, result }: CallRead): string | undefined {
  const named = JSON.stringify({ runIds });
  switch (state) {
    case 'working':
      return `waiting for ${runIds.length === 1 ? 'the run' : `${runIds.length} runs`} ${runIds.slice(0, 3).join(', ')}`;
    case 'cancelled':
      return `the wait is over; what it was for goes on: sessions_wait ${named} waits for it again, sessions_stop ends a run`;
    case 'failed':
      return result === undefined ? undefined : String(field(result, 'error'));
    case 'completed':
      return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
