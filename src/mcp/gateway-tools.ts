/** The session tools as an MCP client sees and calls them. */
import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server';
import { INBOX_TOOL } from '../core/tool-names.ts';
import { toGatewayError } from '../protocol/errors.ts';
import { isToolFailure } from '../protocol/tools/session-tools.ts';
import { describeTool } from './describe-tool.ts';
import type { McpCallName, McpGateway } from './mcp-gateway.ts';
import { deferCall } from './defer-call.ts';
import type { TaskDoor } from './serve-tasks.ts';
import type { ToolSet } from './serve-tools.ts';
import { limitWait, sayHowToGoOn } from './wait-limit.ts';
import { withProgress } from './with-progress.ts';

interface Door {
  gateway: McpGateway;
  /** seconds */
  maxWaitSeconds: number;
  /** tells the client how a task ends, where it can be told unasked */
  followTask?: ((name: McpCallName) => void) | undefined;
}

/** Returns the tools of the session that the client acts as. */
export function gatewayTools(
  door: Door,
  sessionKey: (context: ServerContext) => Promise<string>,
): ToolSet {
  return {
    list: async (context): Promise<Tool[]> => {
      const offered = await door.gateway.listTools(await sessionKey(context));
      return offered.map(describeTool);
    },
    call: async (name, args, context) => {
      try {
        const { signal: gone } = context.mcpReq;
        const call = { sessionKey: await sessionKey(context), tool: name, args, gone };
        const answer = await callWithin(door, { call, context });
        if (name === INBOX_TOOL) return toResult(answer, []);
        return toResult(answer, await messagesFor(door, { ...call, context }));
      } catch (cause) {
        const error = toGatewayError(cause);
        if (error.code === 'unknown_name') return undefined;
        return toResult({ status: 'error', error: error.message }, []);
      }
    },
    defer: async (call, context) =>
      deferCall(door, { call, sessionKey: await sessionKey(context) }),
  };
}

/** Returns what the tasks of the same client are served with. */
export function taskDoor(
  { gateway, followTask }: Pick<Door, 'gateway' | 'followTask'>,
  sessionKey: (context: ServerContext) => Promise<string>,
): TaskDoor {
  return {
    gateway,
    sessionKey,
    tellsUnasked: followTask !== undefined,
    toResult: async (answer, context) => {
      const reader = { sessionKey: await sessionKey(context), context };
      return toResult(answer, await messagesFor({ gateway }, reader));
    },
  };
}

/** One call, which ends before the client gives it up. */
async function callWithin(
  { gateway, maxWaitSeconds }: Door,
  { call, context }: { call: Parameters<McpGateway['invoke']>[0]; context: ServerContext },
): Promise<object> {
  const limited = limitWait(call, maxWaitSeconds);
  const answer = await withProgress(context, () => gateway.invoke(limited));
  return sayHowToGoOn(answer, { asked: call, waited: limited });
}

/** What others have sent to this client meanwhile: it comes with the call's result, if the client is there to get it. */
async function messagesFor(
  { gateway }: Pick<Door, 'gateway'>,
  { sessionKey, context }: { sessionKey: string; context: ServerContext },
): Promise<string[]> {
  if (context.mcpReq.signal.aborted) return [];
  try {
    const inbox = await gateway.takeNews(sessionKey);
    return inbox === undefined ? [] : [JSON.stringify({ inbox })];
  } catch {
    // the call is done, and says so; what could not be fetched comes with the next one
    return [];
  }
}

/** The tool's answer as text and as structured content; what others have sent comes after it. */
function toResult(answer: object, messages: readonly string[]): CallToolResult {
  const texts = [JSON.stringify(answer), ...messages];
  return {
    content: texts.map((text) => ({ type: 'text', text })),
    structuredContent: { ...answer },
    ...(isToolFailure(answer) ? { isError: true } : {}),
  };
}
