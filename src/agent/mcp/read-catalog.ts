import type { Tool } from '@modelcontextprotocol/client';
import { type McpTool, toMcpTools } from '../../core/mcp-tool-list.ts';
import type { McpServerSettings } from '../../protocol/options/mcp-options.ts';
import type { Logger } from '../../util/logger.ts';
import type { McpConnection } from './connect-server.ts';

/** A list of tools, with what the server itself said of each. */
export interface Catalog {
  tools: readonly McpTool[];
  listed: ReadonlyMap<string, Tool>;
}

export interface CatalogOptions {
  name: string;
  settings: McpServerSettings;
  logger: Logger;
  /** sees the texts of the server */
  mask: (text: string) => string;
  /** ends the reading */
  signal: AbortSignal;
}

/** How many of the tools that are left out the log names. */
const NAMED = 10;

/** Asks a server for its tools. What is left out of them, or that nothing is left, is in the log. */
export async function readCatalog(
  connection: McpConnection,
  { name, settings, logger, mask, signal }: CatalogOptions,
): Promise<Catalog> {
  const listed = await connection.listTools(signal);
  const masked = listed.map((tool) => ({ ...tool, description: mask(tool.description ?? '') }));
  const { tools, leftOut } = toMcpTools(name, masked, settings.toolFilter);
  if (leftOut.length > 0) {
    const shown = { leftOut: leftOut.slice(0, NAMED), count: leftOut.length };
    logger.warn({ mcpServer: name, ...shown }, 'tools of an MCP server are left out');
  }
  if (tools.length === 0 && listed.length > 0)
    logger.warn(
      { mcpServer: name, listed: listed.length },
      'an MCP server has none of its tools left; see its toolFilter',
    );
  return { tools, listed: new Map(listed.map((tool) => [tool.name, tool])) };
}
