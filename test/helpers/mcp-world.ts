/** The tools of MCP servers without a gateway, and a look at what the servers did. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createMcpTools, type McpTools } from '../../src/agent/mcp/create-mcp-tools.ts';
import type { AgentTool, ToolContext, ToolOutcome } from '../../src/agent/runtime.ts';
import { type Config, type ConfigInput, defaultConfig } from '../../src/protocol/options/config.ts';
import { type Logger, silentLogger } from '../../src/util/logger.ts';

type Json = Record<string, unknown>;
type Mcp = NonNullable<ConfigInput['mcp']>;

export interface McpWorld {
  mcp: McpTools;
  log: { fields: Json; message: string }[];
  tools(agentId?: string): Promise<AgentTool[]>;
  /** why a tool is missing in a turn of now */
  whyMissing(name: string): Promise<string | undefined>;
  names(agentId?: string): Promise<string[]>;
  call(name: string, args?: Json, signal?: AbortSignal): Promise<ToolOutcome>;
  configure(servers: Json, more?: Json): void;
}

/** Returns the tools of these servers, which end with the test. */
export function mcpWorld(t: TestContext, servers: Json, more: Json = {}): McpWorld {
  let config: Config;
  const log: McpWorld['log'] = [];
  const note = (fields: object, message: string): void =>
    void log.push({ fields: fields as Json, message });
  const logger: Logger = { ...silentLogger, info: note, warn: note, error: note };
  const configure = (next: Json, rest: Json = {}): void => {
    config = defaultConfig({ mcp: { servers: next, ...rest } as Mcp });
  };
  configure(servers, more);
  const mcp = createMcpTools({ config: () => config, logger, version: '0' });
  t.after(() => mcp.stop());
  const ask = (agentId: string) => mcp.toolsOf({ agentId, wantsServer: () => true });
  const tools = async (agentId = 'main') => (await ask(agentId)).tools;
  return {
    mcp,
    log,
    tools,
    whyMissing: async (name) => (await ask('main')).whyMissing(name),
    configure,
    names: async (agentId) => (await tools(agentId)).map(({ spec }) => spec.name),
    call: async (name, args = {}, signal = new AbortController().signal) => {
      const tool = (await tools()).find(({ spec }) => spec.name === name);
      assert.ok(tool, `${name} is not there`);
      return tool.execute(args, { signal } as ToolContext);
    },
  };
}

/** Resolves when it is true; looks again and again. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(10);
}

/** Returns a file of a test server, which says what was done. */
export function effectsOf(t: TestContext): { env: Json; lines: () => string } {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'effects');
  const lines = () => readFileSync(path, { encoding: 'utf8', flag: 'a+' });
  return { env: { EFFECTS: path }, lines };
}

/** Returns whether a process is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
