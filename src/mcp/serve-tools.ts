/** Registers tools on an MCP server: one way for ours and for those of a test build. */
import type { CallToolResult, Server, ServerContext, Tool } from '@modelcontextprotocol/server';
import { GatewayError } from '../protocol/errors.ts';
import { inProtocolErrors } from './to-protocol-error.ts';

/** The tools of one client. Contract: `call` resolves `undefined` for a tool that is not among them. */
export interface ToolSet {
  list(context: ServerContext): Promise<Tool[]>;
  call(
    name: string,
    args: Record<string, unknown>,
    context: ServerContext,
  ): Promise<CallToolResult | undefined>;
}

/** Lets the client list and call these tools. */
export function serveTools(server: Server, tools: ToolSet): void {
  server.setRequestHandler('tools/list', (_request, context) =>
    inProtocolErrors(async () => ({ tools: await tools.list(context) })),
  );
  server.setRequestHandler('tools/call', ({ params: { name, arguments: args = {} } }, context) =>
    inProtocolErrors(async () => {
      const result = await tools.call(name, args, context);
      if (result !== undefined) return result;
      throw new GatewayError(
        'unknown_name',
        `no tool "${name.slice(0, 64)}" is offered to this session; see tools/list`,
      );
    }),
  );
}
