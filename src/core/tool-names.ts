/** What the names, groups, patterns and profiles of a tool policy stand for (SPEC A2, B7.5). */
import type { ToolProfile } from '../protocol/options/tool-options.ts';
import { fitsPattern } from '../util/fits-pattern.ts';

/** The tools that an agent is offered when nothing names others; `*` in every allow list (A2). */
export const DEFAULT_TOOLS: readonly string[] = [
  'sessions_list',
  'sessions_history',
  'sessions_send',
  'sessions_spawn',
  'agents_list',
  'read',
  'write',
  'edit',
  'exec',
];

/** Between the name of an MCP server and that of its tool; no other tool has it in its name. */
export const MCP_SEPARATOR = '__';

/** Returns whether a name is that of a tool of an MCP server. */
function isMcpTool(name: string): boolean {
  return name.includes(MCP_SEPARATOR);
}

/** Offered to clients, which have an inbox, and to nobody else. */
export const INBOX_TOOL = 'sessions_inbox';

/** The default set of a client: it has no prompt of ours to keep small. */
export const CLIENT_TOOLS: readonly string[] = [
  ...DEFAULT_TOOLS,
  'sessions_wait',
  'sessions_stop',
  'sessions_search',
  INBOX_TOOL,
];

/** What a `group:<name>` of a policy stands for. */
const TOOL_GROUPS: Readonly<Record<string, readonly string[]>> = {
  'group:sessions': [
    'sessions_list',
    'sessions_history',
    'sessions_send',
    'sessions_spawn',
    INBOX_TOOL,
    'session_status',
  ],
  'group:agents': ['agents_list'],
  'group:fs': ['read', 'write', 'edit'],
  'group:runtime': ['exec'],
};

/** Every tool of every MCP server. */
const MCP_GROUP = 'group:mcp';
/** The same, as configurations of OpenClaw have it. */
const MCP_ALIAS = 'bundle-mcp';

/** What each profile allows; `full` is every tool there is. */
const PROFILE_TOOLS: Record<ToolProfile, readonly string[]> = {
  minimal: ['session_status'],
  messaging: [
    'sessions_list',
    'sessions_history',
    'sessions_send',
    INBOX_TOOL,
    'session_status',
    'message',
    MCP_GROUP,
  ],
  coding: ['group:fs', 'group:runtime', 'group:sessions', 'group:agents', MCP_GROUP],
  // A pattern other than a lone `*`, which would be the default set only.
  full: ['**'],
};

/** Returns the allow list that a profile stands for. */
export function profileTools(profile: ToolProfile): readonly string[] {
  return PROFILE_TOOLS[profile];
}

/** Returns whether a name is a session tool: every `sessions_*`, and `agents_list` (A16). */
export function isSessionTool(name: string): boolean {
  const folded = name.toLowerCase();
  return folded.startsWith('sessions_') || folded === 'agents_list';
}

/** Returns whether an allow list names a tool: by name, pattern or group, in any case; `*` is the default set. */
export function isAllowedBy(
  list: readonly string[],
  { name, defaults }: { name: string; defaults: readonly string[] },
): boolean {
  return list.some((entry) =>
    entry.trim() === '*' ? isDefaultTool(name, defaults) : matchesTool(entry, name),
  );
}

/** Returns whether a tool is of the default set: one of `defaults`, or of a server that the configuration names. */
export function isDefaultTool(name: string, defaults: readonly string[]): boolean {
  return isMcpTool(name) || defaults.includes(name.toLowerCase());
}

/** Returns whether an allow list may name a tool of this server, whatever tools it turns out to have. */
export function mayAllowServer(list: readonly string[], server: string): boolean {
  const prefix = server.toLowerCase() + MCP_SEPARATOR;
  return list.some((entry) => {
    const pattern = entry.trim().toLowerCase();
    if (pattern === MCP_ALIAS || pattern.startsWith('group:')) return matchesTool(pattern, prefix);
    const [head = '', ...rest] = pattern.split('*');
    return head.startsWith(prefix) || (rest.length > 0 && prefix.startsWith(head));
  });
}

/** Returns whether a deny list names every tool of this server, whatever tools it turns out to have. */
export function deniesServer(list: readonly string[], server: string): boolean {
  // no name of a tool holds this letter: what fits it ends with a star
  return isDeniedBy(list, `${server}${MCP_SEPARATOR}\u0000`);
}

/** Returns whether a deny list names a tool: by name, pattern or group, in any case; `*` is every tool. */
export function isDeniedBy(list: readonly string[], name: string): boolean {
  return list.some((entry) => matchesTool(entry, name));
}

/**
 * Returns whether the allow list of sub-agents gives a session tool back to them: patterns and groups
 * never do, exact names and `group:sessions` do (A16).
 */
export function isGivenBackBy(list: readonly string[], name: string): boolean {
  return list.some((entry) => {
    const folded = entry.trim().toLowerCase();
    return (
      folded === name.toLowerCase() || (folded === 'group:sessions' && matchesTool(folded, name))
    );
  });
}

/** Returns the entries of a policy list that can match nothing: groups that do not exist. */
export function unknownToolGroups(names: readonly string[]): string[] {
  return names.filter((name) => {
    const folded = name.trim().toLowerCase();
    return (
      folded.startsWith('group:') &&
      ![...Object.keys(TOOL_GROUPS), MCP_GROUP].some((group) => fitsPattern(folded, group))
    );
  });
}

function matchesTool(entry: string, name: string): boolean {
  const pattern = entry.trim().toLowerCase();
  const folded = name.toLowerCase();
  if (isMcpTool(name) && (pattern === MCP_ALIAS || isMcpGroup(pattern))) return true;
  if (!pattern.startsWith('group:')) return fitsPattern(pattern, folded);
  return Object.entries(TOOL_GROUPS).some(
    ([group, names]) => fitsPattern(pattern, group) && names.includes(folded),
  );
}

function isMcpGroup(pattern: string): boolean {
  return pattern.startsWith('group:') && fitsPattern(pattern, MCP_GROUP);
}
