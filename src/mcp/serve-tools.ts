/** Registers tools on an MCP server: one way for ours and for those of a test build. */
import type {
  CallToolResult,
  Result,
  Server,
  ServerContext,
  Tool,
} from '@modelcontextprotocol/server';
import { GatewayError } from '../protocol/errors.ts';
import { taskWishOf, type TaskWish } from './task-words.ts';
import { inProtocolErrors } from './to-protocol-error.ts';

/** The tools of one client. Contract: `call` resolves `undefined` for a tool that is not among them. */
export interface ToolSet {
  list(context: ServerContext): Promise<Tool[]>;
  call(
    name: string,
    args: Record<string, unknown>,
    context: ServerContext,
  ): Promise<CallToolResult | undefined>;
  /** Makes the call as a task, for a client that takes one; `undefined` = it is called as it is. */
  defer?(call: DeferredToolCall, context: ServerContext): Promise<Result | undefined>;
}
export interface DeferredToolCall {
  name: string;
  args: Record<string, unknown>;
  wish: TaskWish;
}

/** Lets the client list and call these tools. */
export function serveTools(server: Server, tools: ToolSet): void {
  server.setRequestHandler('tools/list', (_request, context) =>
    inProtocolErrors(async () => ({ tools: await tools.list(context) })),
  );
  server.setRequestHandler('tools/call', ({ params }, context) =>
    inProtocolErrors(async () => {
      const { name, arguments: args = {} } = params;
      const wish = taskWishOf(params, context);
      const task = wish && (await tools.defer?.({ name, args, wish }, context));
      // the library's type has no tasks, its schema lets them through
      if (task !== undefined) return task as CallToolResult;
      const result = await tools.call(name, args, context);
      if (result !== undefined) return result;
      throw new GatewayError(
        'unknown_name',
        `no tool "${name.slice(0, 64)}" is offered to this session; see tools/list`,
      );
    }),
  );
}
