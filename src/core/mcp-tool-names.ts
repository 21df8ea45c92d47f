/** The names under which the tools of MCP servers are offered: `<server>__<tool>`. */
import { createHash } from 'node:crypto';
import { MCP_SEPARATOR } from './tool-names.ts';

/** What the APIs of models take as the name of a tool. */
const MAX_NAME_LETTERS = 64;
const MAX_SERVER_LETTERS = 32;

/** Returns what is wrong with the name of a server, undefined = nothing. */
export function serverNameFault(server: string): string | undefined {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(server) || server.length > MAX_SERVER_LETTERS)
    return `is no name of a server; use 1 to ${MAX_SERVER_LETTERS} letters, digits, "_" or "-", beginning with a letter or digit`;
  // its tools could read as those of another server
  if (server.includes(MCP_SEPARATOR) || server.endsWith('_'))
    return 'must not hold "__" or end with "_": that is what separates a server from its tools';
  // and these as session tools, which sub-agents do not have
  if (/^sessions(_|$)/i.test(server))
    return 'belongs to the session tools; choose a name that does not begin with "sessions"';
  return undefined;
}

/**
 * Returns the names of a server's tools, by the name that it gave them. A name that every model takes stays as it
 * is. Another one has its letters replaced, and a mark of its own where it would be that of a second tool.
 */
export function mcpToolNames(server: string, given: readonly string[]): Map<string, string> {
  const plain = new Map(given.map((name) => [name, plainName(server, name)]));
  const counts = new Map<string, number>();
  for (const name of plain.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    [...plain].map(([name, offered]) => {
      const isOwn = offered === server + MCP_SEPARATOR + name;
      const isAlone = counts.get(offered) === 1;
      return [name, isOwn || isAlone ? offered : marked(offered, name)];
    }),
  );
}

function plainName(server: string, tool: string): string {
  const name = server + MCP_SEPARATOR + tool.replace(/[^A-Za-z0-9_-]/g, '-');
  return name.length > MAX_NAME_LETTERS ? marked(name, tool) : name;
}

function marked(name: string, given: string): string {
  const mark = `-${createHash('sha256').update(given).digest('hex').slice(0, 6)}`;
  return name.slice(0, MAX_NAME_LETTERS - mark.length) + mark;
}
