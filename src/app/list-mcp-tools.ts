/** Starting the configured MCP servers once, to see whether they work: `trunkline config mcp`. */
import { createMcpTools } from '../agent/mcp/create-mcp-tools.ts';
import type { Environment } from '../config/env-references.ts';
import { loadConfig } from '../config/load-config.ts';
import { secretValues } from '../config/secret-values.ts';
import { fold } from '../core/key-grammar.ts';
import { maskKnown } from '../core/mask-secrets.ts';
import { type Logger, silentLogger } from '../util/logger.ts';
import { TRUNKLINE_VERSION } from './version.ts';

export interface McpPlace {
  stateDir?: string | undefined;
  configPath?: string | undefined;
  env?: Environment | undefined;
}

export interface McpServerReport {
  name: string;
  isEnabled: boolean;
  /** as agents are offered them, before any tool policy */
  tools: string[];
  /** why it cannot be used */
  reason?: string;
  /** what is odd about it, and the last lines that it wrote on standard error */
  notes: string[];
}

/** Returns what each server of the configuration has. Every one that is switched on is started, and ended again. */
export async function listMcpTools(place: McpPlace): Promise<McpServerReport[]> {
  const { config } = loadConfig(place);
  const secrets = secretValues(config);
  const notes = new Map<string, string[]>();
  const mcp = createMcpTools({
    config: () => config,
    version: TRUNKLINE_VERSION,
    logger: noteTo(notes, (text) => maskKnown(text, secrets)),
  });
  try {
    return await Promise.all(
      Object.entries(config.mcp.servers).map(async ([name, { enabled, agents = ['main'] }]) => {
        const question = {
          agentId: fold(agents[0] ?? ''),
          wantsServer: (server: string) => server === name,
        };
        const { tools } = enabled ? await mcp.toolsOf(question) : { tools: [] };
        const reason = mcp.states().find((state) => state.name === name)?.reason;
        return {
          name,
          isEnabled: enabled,
          tools: tools.map(({ spec }) => spec.name),
          ...(reason === undefined ? {} : { reason }),
          notes: notes.get(name) ?? [],
        };
      }),
    );
  } finally {
    await mcp.stop();
  }
}

/** What would be in the log of a gateway. */
function noteTo(notes: Map<string, string[]>, mask: (text: string) => string): Logger {
  const warn = (fields: object): void => {
    const { mcpServer, stderr = [], leftOut = [] } = fields as Record<string, unknown>;
    const lines = [
      ...(stderr as string[]),
      ...(leftOut as string[]).map((tool) => `left out: ${tool}`),
    ];
    const name = String(mcpServer);
    notes.set(name, [...(notes.get(name) ?? []), ...lines.map(mask)]);
  };
  return { ...silentLogger, warn };
}
