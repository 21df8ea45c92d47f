/** A tool call as a task: the client is given a handle, and fetches the tool's answer later. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Result } from '@modelcontextprotocol/server';
import type { CallRead, CallStarted } from '../protocol/answers/call-answers.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { McpCallName, McpGateway } from './mcp-gateway.ts';
import type { DeferredToolCall } from './serve-tools.ts';
import { mayBeTask, toExtensionTask, toTask } from './task-words.ts';

/** Returns the result that has the task; undefined for a call that is to be made as it is. */
export function deferCall(
  { gateway, followTask }: DeferringDoor,
  { sessionKey, call }: { sessionKey: string; call: DeferredToolCall },
): Promise<Result | undefined> {
  const { name: tool, args, wish } = call;
  if (wish.type === 'allowed') return asAllowed(gateway, { sessionKey, tool, args });
  return asAsked({ gateway, followTask }, { sessionKey, tool, args, ttlMs: wish.ttlMs });
}

interface DeferringDoor {
  gateway: McpGateway;
  followTask?: ((name: McpCallName) => void) | undefined;
}
type NewCall = Parameters<McpGateway['startCall']>[0];

/** The client takes nothing but a task: what refuses the call is an error of the protocol. */
async function asAsked(
  { gateway, followTask }: DeferringDoor,
  call: NewCall,
): Promise<Result | undefined> {
  const started = await gateway.startCall(call).catch((thrown: unknown) => {
    // a tool that is not there, or not offered, is told as it is without a task
    if (toGatewayError(thrown).code === 'unknown_name') return undefined;
    throw thrown;
  });
  if (started === undefined) return undefined;
  const made = begun(started);
  followTask?.({ sessionKey: call.sessionKey, callId: made.callId });
  const task = toTask({ ...made, state: 'working' });
  // the library lets no other result through that has no content
  return { content: [], task };
}

function begun(started: CallStarted): CallRead {
  if ('call' in started) return started.call;
  const { error } = started.result as { error?: unknown };
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, String(error));
}

/** The client takes whatever comes: a task where the call lasts, an answer or a refusal as ever where it does not. */
async function asAllowed(gateway: McpGateway, call: NewCall): Promise<Result | undefined> {
  if (!mayBeTask(call.tool, call.args)) return undefined;
  const started = await gateway.startCall(call).catch((thrown: unknown) => {
    // these come before any effect; after anything else nobody knows, and it is not made again
    const { code } = toGatewayError(thrown);
    if (code === 'unknown_name' || code === 'forbidden' || code === 'invalid_request')
      return undefined;
    throw thrown;
  });
  if (started === undefined || !('call' in started)) return undefined;
  const isAnswered = started.call.state !== 'working' && call.tool === 'sessions_wait';
  return isAnswered ? undefined : { resultType: 'task', ...toExtensionTask(started.call) };
}
