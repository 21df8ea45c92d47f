/** The methods of tasks: `get`, `result`, `list` and `cancel` of revision 2025-11-25; `get`, `cancel` and `update` of the extension. */
import {
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
} from '@modelcontextprotocol/server';
import type { CallToolResult, Server, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { CallRead } from '../protocol/answers/call-answers.ts';
import { CURSOR_MAX, NAME_MAX } from '../protocol/tools/tool-limits.ts';
import { awaitCall } from './await-call.ts';
import type { McpCallName, McpGateway } from './mcp-gateway.ts';
import {
  declaresTasks,
  speaksExtension,
  TASKS_EXTENSION,
  toExtensionTask,
  toTask,
} from './task-words.ts';
import { inProtocolErrors } from './to-protocol-error.ts';
import { withProgress } from './with-progress.ts';

export interface TaskDoor {
  gateway: McpGateway;
  sessionKey: (context: ServerContext) => Promise<string>;
  /** the client is told of the end of its tasks anyway */
  tellsUnasked: boolean;
  /** The result of the call, as it would have been without a task. */
  toResult: (answer: object, context: ServerContext) => Promise<CallToolResult>;
}
interface Named {
  taskId: string;
  context: ServerContext;
}

const byId = z.looseObject({ taskId: z.string().min(1).max(NAME_MAX) });
const page = z.looseObject({ cursor: z.string().max(CURSOR_MAX).optional() }).optional();

/** Lets the client follow the calls that it was given as tasks; those of other sessions are not there. */
export function serveTasks(server: Server, door: TaskDoor): void {
  server.setRequestHandler('tasks/get', { params: byId }, async ({ taskId }, context) => {
    requireDeclared(context);
    const call = await read(door, { taskId, context });
    if (!speaksExtension(context)) return toTask(call);
    return { ...toExtensionTask(call), ...(await inlined(door, call, context)) };
  });
  server.setRequestHandler('tasks/result', { params: byId }, async ({ taskId }, context) => ({
    ...(await resultOf(door, { taskId, context })),
    _meta: { [RELATED_TASK_META_KEY]: { taskId } },
  }));
  server.setRequestHandler('tasks/list', { params: page }, async (params, context) => {
    const sessionKey = await door.sessionKey(context);
    const { calls, nextCursor } = await inProtocolErrors(() =>
      door.gateway.listCalls({ sessionKey, cursor: params?.cursor }),
    );
    const tasks = calls.map(toTask);
    return { tasks, ...(nextCursor === undefined ? {} : { nextCursor }) };
  });
  server.setRequestHandler('tasks/cancel', { params: byId }, async ({ taskId }, context) => {
    requireDeclared(context);
    const call = await cancel(door, { taskId, context });
    return speaksExtension(context) ? {} : toTask(call);
  });
  // no task of ours asks for anything: whatever is said to one is of no effect
  server.setRequestHandler('tasks/update', { params: byId }, async ({ taskId }, context) => {
    if (!speaksExtension(context)) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, '');
    requireDeclared(context);
    await read(door, { taskId, context });
    return {};
  });
}

async function nameOf({ sessionKey }: TaskDoor, { taskId, context }: Named): Promise<McpCallName> {
  return { sessionKey: await sessionKey(context), callId: taskId };
}

async function read(door: TaskDoor, named: Named): Promise<CallRead> {
  const name = await nameOf(door, named);
  return inProtocolErrors(() => door.gateway.readCall({ ...name, timeoutMs: 0 }));
}

/** Waits to the end, however long that is: the client ends it when it has no more patience. */
async function resultOf(door: TaskDoor, named: Named): Promise<CallToolResult> {
  const { context } = named;
  let call = await read(door, named);
  if (call.state === 'working') {
    const { signal } = context.mcpReq;
    const name = await nameOf(door, named);
    call = await withProgress(context, () =>
      inProtocolErrors(() => awaitCall(door.gateway, name, signal)),
    );
    if (!door.tellsUnasked && !signal.aborted) await tellStatus(context, call);
  }
  if (call.result !== undefined) return door.toResult(call.result, context);
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `the task has no result: ${call.state}`);
}

/** A hint beside the answer; a client that does not hear of it has lost nothing. */
async function tellStatus({ mcpReq }: ServerContext, call: CallRead): Promise<void> {
  await mcpReq.notify(taskStatus(call)).catch(() => {});
}

/** What a client of revision 2025-11-25 is told when a task has ended. */
export function taskStatus(call: CallRead) {
  return { method: 'notifications/tasks/status', params: toTask(call) } as const;
}

async function cancel(door: TaskDoor, named: Named): Promise<CallRead> {
  const before = await read(door, named);
  if (before.state === 'working') {
    const name = await nameOf(door, named);
    const call = await inProtocolErrors(() => door.gateway.cancelCall(name));
    if (call.state === 'cancelled') return call;
  }
  // in the extension a cancellation that comes too late is acknowledged like any other
  if (speaksExtension(named.context)) return before;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'the task is over already; tasks/result has how it ended',
  );
}

/** In the extension a task that is over has its answer in it, whole as it would have come by itself. */
async function inlined(door: TaskDoor, { result }: CallRead, context: ServerContext) {
  if (result === undefined) return {};
  return { result: { resultType: 'complete', ...(await door.toResult(result, context)) } };
}

function requireDeclared(context: ServerContext): void {
  if (!speaksExtension(context) || declaresTasks(context)) return;
  throw new ProtocolError(
    ProtocolErrorCode.MissingRequiredClientCapability,
    `tasks are for clients that declare the extension ${TASKS_EXTENSION} with each request`,
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  );
}
