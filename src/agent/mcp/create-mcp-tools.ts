import { isDeepStrictEqual } from 'node:util';
import { fold } from '../../core/key-grammar.ts';
import type { McpTool } from '../../core/mcp-tool-list.ts';
import { MCP_SEPARATOR } from '../../core/tool-names.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { McpServerSettings } from '../../protocol/options/mcp-options.ts';
import { whyUnusable } from '../../protocol/tools/usable-arguments.ts';
import type { Logger } from '../../util/logger.ts';
import type { AgentTool, ToolQuestion, ToolServerState } from '../runtime.ts';
import { McpServer } from './mcp-server.ts';

export interface McpToolsOptions {
  config: () => Config;
  logger: Logger;
  /** what servers are told who we are */
  version: string;
}

export interface McpTurnTools {
  tools: AgentTool[];
  /** Returns why a tool of one of the servers is not there, undefined when nothing is known of it. */
  whyMissing(name: string): string | undefined;
}

/** The tools of the configured MCP servers. */
export interface McpTools {
  /**
   * Returns those that an agent may use, in the order of the configuration; a server that fails has none. Of
   * servers that are kept from the agent nothing is told.
   */
  toolsOf(question: ToolQuestion): Promise<McpTurnTools>;
  /** Returns how each server is doing that is switched on. */
  states(): ToolServerState[];
  /** Ends the servers whose settings have changed or that are there no more; calls that are going fail. */
  reconfigure(): void;
  /** Ends all of them. */
  stop(): Promise<void>;
}

/** Returns the tools of `mcp.servers`. No server is started before a turn may use it. */
export function createMcpTools({ config, logger, version }: McpToolsOptions): McpTools {
  const running = new Map<string, McpServer>();
  /** servers that have been taken out and are not gone yet */
  const ending = new Set<Promise<void>>();
  let isStopped = false;

  const end = (server: McpServer, reason: string): void => {
    const gone = server.stop(reason).finally(() => ending.delete(gone));
    ending.add(gone);
  };
  const reconfigure = (): void => {
    for (const [name, server] of running) {
      if (isDeepStrictEqual(config().mcp.servers[name], server.settings)) continue;
      running.delete(name);
      end(server, 'its configuration has changed');
    }
  };
  const serverOf = (name: string, settings: McpServerSettings): McpServer => {
    const known = running.get(name);
    if (known !== undefined) return known;
    const idleMs = (): number => config().mcp.sessionIdleTtlMs;
    const server = new McpServer({ name, settings, version, logger, idleMs });
    running.set(name, server);
    return server;
  };
  return {
    reconfigure,
    toolsOf: async (question) => {
      reconfigure();
      const servers = isStopped
        ? []
        : serversFor(config(), question).map(([name, settings]) => serverOf(name, settings));
      const lists = await Promise.all(
        servers.map(async (server) =>
          (await server.tools()).map((tool) => toAgentTool(server, tool)),
        ),
      );
      return {
        tools: lists.flat(),
        whyMissing: (tool) => {
          const owner = servers.find(({ name }) => tool.startsWith(name + MCP_SEPARATOR));
          const reason = owner?.state.reason;
          return reason && `MCP server ${owner?.name} is not available, ${reason}`;
        },
      };
    },
    states: () =>
      Object.entries(config().mcp.servers)
        .filter(([, { enabled }]) => enabled)
        .map(([name]) => ({ name, ...(running.get(name)?.state ?? { state: 'off' }) })),
    stop: async () => {
      isStopped = true;
      for (const server of running.values()) end(server, 'the gateway is stopping');
      running.clear();
      await Promise.all(ending);
    },
  };
}

/** A server that is kept for other agents is not there for this one. */
function serversFor(
  { mcp }: Config,
  { agentId, wantsServer }: ToolQuestion,
): [name: string, settings: McpServerSettings][] {
  return Object.entries(mcp.servers).filter(
    ([name, { enabled, agents }]) =>
      enabled &&
      (agents === undefined || agents.some((agent) => fold(agent) === agentId)) &&
      wantsServer(name),
  );
}

function toAgentTool(server: McpServer, tool: McpTool): AgentTool {
  const { name, description, parameters } = tool;
  return {
    spec: { name, description, parameters },
    // what a server says about its own tools is no reason to do anything twice
    repeatable: false,
    execute: async (args, { signal }) => {
      const flaw = whyUnusable(args);
      if (flaw !== undefined) return { text: flaw, isError: true };
      return server.call(tool, { args, signal });
    },
  };
}
