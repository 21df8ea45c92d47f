/** Checks what a configuration says about MCP servers. No message quotes a value: it may hold a credential. */
import { fold } from '../core/key-grammar.ts';
import { listAgents } from '../core/agents.ts';
import { serverNameFault } from '../core/mcp-tool-names.ts';
import type { Config } from '../protocol/options/config.ts';
import type { McpServerSettings } from '../protocol/options/mcp-options.ts';
import { briefly } from '../util/briefly.ts';
import { formatPath } from './config-issue.ts';
import type { ConfigIssue, PathSegment } from './config-issue.ts';

/** Returns what makes a server unusable: its name, or settings that do not go together. */
export function mcpErrors({ mcp }: Config): ConfigIssue[] {
  const seen = new Set<string>();
  return Object.entries(mcp.servers).flatMap(([name, settings]) => {
    const fault = serverNameFault(name) ?? (seen.has(fold(name)) ? TWICE : undefined);
    seen.add(fold(name));
    const own = fault === undefined ? [] : [issue(name, [], fault)];
    return [...own, ...transportErrors(name, settings), ...valueErrors(name, settings)];
  });
}

/** Returns a warning for each agent that a server is kept for and that is not there. */
export function mcpWarnings(config: Config): ConfigIssue[] {
  const known = new Set(listAgents(config).map(({ id }) => id));
  return Object.entries(config.mcp.servers).flatMap(([name, { agents = [] }]) =>
    agents.flatMap((agent, index) => {
      if (known.has(fold(agent))) return [];
      const message = `no agent "${briefly(agent)}" is configured; add it to agents.list, or take the entry out`;
      return [issue(name, ['agents', index], message)];
    }),
  );
}

const TWICE = 'is there twice: tool policies do not tell names apart by their case';

function transportErrors(name: string, settings: McpServerSettings): ConfigIssue[] {
  const { command, url, transport } = settings;
  if (command === undefined && url === undefined)
    return [issue(name, [], 'needs a command to start, or the url of a server that runs')];
  if (command !== undefined && url !== undefined)
    return [issue(name, [], 'has both a command and a url; keep one of them')];
  const isProgram = command !== undefined;
  if (transport !== undefined && (transport === 'stdio') !== isProgram)
    return [issue(name, ['transport'], `does not go with ${isProgram ? 'a command' : 'a url'}`)];
  const without = isProgram ? (['headers'] as const) : (['args', 'env', 'cwd'] as const);
  return without
    .filter((key) => Object.keys(settings[key] ?? {}).length > 0)
    .map((key) =>
      issue(name, [key], `has no effect with ${isProgram ? 'a command' : 'a url'}; take it out`),
    );
}

function valueErrors(name: string, { url, env, headers }: McpServerSettings): ConfigIssue[] {
  const errors: ConfigIssue[] = [];
  const parsed = url === undefined ? undefined : new URL(url);
  if (parsed !== undefined && (parsed.username !== '' || parsed.password !== ''))
    errors.push(issue(name, ['url'], 'must not hold a user or password; put them into headers'));
  for (const [variable, value] of Object.entries(env))
    if (!isVariable(variable) || String(value).includes('\u0000'))
      errors.push(issue(name, ['env', variable], 'cannot stand in an environment'));
  for (const [header, value] of Object.entries(headers))
    if (!isHeader(header, String(value)))
      errors.push(issue(name, ['headers', header], 'cannot stand in a request'));
  return errors;
}

function isVariable(name: string): boolean {
  return name !== '' && !name.includes('=') && !name.includes('\u0000');
}

function isHeader(name: string, value: string): boolean {
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}

function issue(name: string, path: PathSegment[], message: string): ConfigIssue {
  return { path: formatPath(['mcp', 'servers', name, ...path]), message };
}
