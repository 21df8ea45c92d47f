/** Registers tools on an MCP server: one way for ours and for those of a test build. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { CallToolResult, Server, ServerContext, Tool } from '@modelcontextprotocol/server';

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
  server.setRequestHandler('tools/list', async (_request, context) => ({
    tools: await tools.list(context),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const result = await tools.call(params.name, params.arguments ?? {}, context);
    if (result !== undefined) return result;
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `no tool "${params.name.slice(0, 64)}" is offered to this session; see tools/list`,
    );
  });
}
