/**
 * What an MCP server says about its tools, as a model is shown it. Nothing in it is trusted: texts and schemas
 * are bounded, invisible letters go, and what is too large is left out by name.
 */
import { isDeeperThan } from '../protocol/tools/usable-arguments.ts';
import { briefly } from '../util/briefly.ts';
import { fitsPattern } from '../util/fits-pattern.ts';
import { mcpToolNames } from './mcp-tool-names.ts';

/** A tool as its server lists it; the rest of it is not looked at. */
export interface ListedTool {
  name: string;
  description?: string | undefined;
  inputSchema: Record<string, unknown>;
}

/** A tool as it is offered. */
export interface McpTool {
  /** what its server calls it */
  given: string;
  name: string;
  description: string;
  /** JSON Schema of its arguments */
  parameters: Record<string, unknown>;
}

export interface McpToolList {
  tools: McpTool[];
  /** why tools of the server are not among them, for the log */
  leftOut: string[];
}

/** A model has to read all of them in every call. */
const MAX_TOOLS = 200;
const MAX_DESCRIPTION_LETTERS = 2_000;
const MAX_SCHEMA_BYTES = 32_768;
/** Of all its tools; a hundred tools of everyday servers have a tenth of it. */
const MAX_LIST_BYTES = 500_000;
const MAX_SCHEMA_DEPTH = 32;
const MAX_GIVEN_LETTERS = 256;

/** Returns the tools of a server in the order of their names, whatever order the server has them in. */
export function toMcpTools(
  server: string,
  listed: readonly ListedTool[],
  filter: { include?: readonly string[] | undefined; exclude?: readonly string[] | undefined },
): McpToolList {
  const names = mcpToolNames(
    server,
    listed.map(({ name }) => name),
  );
  const taken = new Map<string, McpTool>();
  const leftOut: string[] = [];
  let room = MAX_LIST_BYTES;
  for (const one of listed) {
    const name = names.get(one.name) ?? '';
    if (!isKept(filter, { given: one.name, name })) continue;
    const tool = taken.has(name) ? 'is there twice' : toTool(one, { name, room });
    if (typeof tool === 'string') leftOut.push(`${briefly(one.name)} ${tool}`);
    else if (taken.size === MAX_TOOLS)
      leftOut.push(`${briefly(one.name)} is beyond the ${MAX_TOOLS} tools of one server`);
    else {
      taken.set(name, tool);
      room -= bytesOf(tool);
    }
  }
  const tools = [...taken.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { tools, leftOut };
}

function isKept(
  { include, exclude = [] }: Parameters<typeof toMcpTools>[2],
  { given, name }: { given: string; name: string },
): boolean {
  const isNamedBy = (list: readonly string[]): boolean =>
    list.some((pattern) => fitsPattern(pattern, given) || fitsPattern(pattern, name));
  return (include === undefined || isNamedBy(include)) && !isNamedBy(exclude);
}

/** Returns the tool, or why it is left out. */
function toTool(
  { name: given, description = '', inputSchema }: ListedTool,
  { name, room }: { name: string; room: number },
): McpTool | string {
  if (given === '' || given.length > MAX_GIVEN_LETTERS)
    return `has no name of 1 to ${MAX_GIVEN_LETTERS} letters`;
  if (isDeeperThan(inputSchema, MAX_SCHEMA_DEPTH))
    return `has a schema deeper than ${MAX_SCHEMA_DEPTH} levels`;
  if (bytesOf(inputSchema) > MAX_SCHEMA_BYTES)
    return `has a schema larger than ${MAX_SCHEMA_BYTES} bytes`;
  const { $schema: _dialect, ...schema } = inputSchema;
  const tool = {
    given,
    name,
    description: visible(description).slice(0, MAX_DESCRIPTION_LETTERS).toWellFormed(),
    // some endpoints refuse an object without them
    parameters: { properties: {}, ...schema, type: 'object' },
  };
  return bytesOf(tool) > room ? `is beyond the ${MAX_LIST_BYTES} bytes of one server` : tool;
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** People who look at a description see what a model reads: no control, direction, zero-width or tag letters. */
function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]|[\u{e0000}-\u{e007f}]/gu, '').trim();
}
