/**
 * Which tools a session is offered (SPEC A2, A16, B7.5). Stages, each of which only narrows:
 * global profile → global allow/deny → agent profile → agent allow/deny → sub-agent tools.
 */
import type { Config } from '../protocol/options/config.ts';
import type { ToolProfile } from '../protocol/options/tool-options.ts';
import { findAgent } from './agents.ts';

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

/** Of the default set for a client that has an inbox, and offered to nobody else. */
const INBOX_TOOL = 'sessions_inbox';

/** What a `group:<name>` of a policy stands for. */
const TOOL_GROUPS: Readonly<Record<string, readonly string[]>> = {
  'group:sessions': [
    'sessions_list',
    'sessions_history',
    'sessions_send',
    'sessions_spawn',
    INBOX_TOOL,
  ],
  'group:agents': ['agents_list'],
  'group:fs': ['read', 'write', 'edit'],
  'group:runtime': ['exec'],
};

/** What each profile allows; `full` is every tool there is. */
const PROFILE_TOOLS: Record<Exclude<ToolProfile, 'full'>, readonly string[]> = {
  minimal: ['session_status'],
  messaging: [
    'sessions_list',
    'sessions_history',
    'sessions_send',
    INBOX_TOOL,
    'session_status',
    'message',
  ],
  coding: ['group:fs', 'group:runtime', 'group:sessions', 'group:agents'],
};

/** The session that is offered tools. */
export interface ToolQuery {
  config: Config;
  agentId: string;
  isSubagent: boolean;
  /** it has an inbox, and no runtime of ours; absent = no */
  isClient?: boolean;
  /** 0 for a session that nobody spawned */
  spawnDepth: number;
  /** names of every tool there is */
  available: readonly string[];
}

interface AllowDeny {
  allow?: readonly string[] | undefined;
  deny?: readonly string[] | undefined;
}

/** Returns the tools that a session is offered, in the order of `available`. */
export function offeredTools(query: ToolQuery): string[] {
  const { config } = query;
  const available = query.available.filter(
    (name) => query.isClient === true || name !== INBOX_TOOL,
  );
  const agentTools = findAgent(config, query.agentId)?.tools ?? {};
  const stages = [profileStage(config.tools.profile), config.tools];
  stages.push(profileStage(agentTools.profile), agentTools);
  let offered: readonly string[] = available;
  for (const stage of stages) offered = narrow(offered, stage);
  const subagentTools = config.tools.subagents.tools;
  // Tools beyond the default set are offered to nobody whom no allow list or profile names them to.
  const isNamed =
    stages.some((stage) => stage.allow !== undefined) ||
    (query.isSubagent && subagentTools.allow !== undefined);
  if (!isNamed) offered = offered.filter(isDefaultTool);
  return query.isSubagent ? subagentStage(offered, query) : [...offered];
}

/** Returns whether a name is a session tool: every `sessions_*`, and `agents_list` (A16). */
function isSessionTool(name: string): boolean {
  const folded = name.toLowerCase();
  return folded.startsWith('sessions_') || folded === 'agents_list';
}

/** Returns the entries of a policy list that can match nothing: groups that do not exist. */
export function unknownToolGroups(names: readonly string[]): string[] {
  return names.filter((name) => {
    const folded = name.trim().toLowerCase();
    return folded.startsWith('group:') && !(folded in TOOL_GROUPS) && folded !== 'group:*';
  });
}

function subagentStage(offered: readonly string[], query: ToolQuery): string[] {
  const { allow, deny = [] } = query.config.tools.subagents.tools;
  const { maxSpawnDepth } = query.config.agents.defaults.subagents;
  const maySpawn = query.spawnDepth < maxSpawnDepth;
  return offered.filter((name) => {
    if (deny.some((entry) => matches(entry, name, 'deny'))) return false;
    const folded = name.toLowerCase();
    if (folded === 'sessions_spawn') return maySpawn;
    if (folded === 'agents_list' && maySpawn) return true;
    if (isSessionTool(name)) return (allow ?? []).some((entry) => namesSessionTool(entry, name));
    return allow === undefined || allow.some((entry) => matches(entry, name, 'allow'));
  });
}

/** Patterns and groups never give session tools back to sub-agents; exact names and `group:sessions` do (A16). */
function namesSessionTool(entry: string, name: string): boolean {
  const folded = entry.trim().toLowerCase();
  if (folded === 'group:sessions') return matches(folded, name, 'allow');
  return folded === name.toLowerCase();
}

function profileStage(profile: ToolProfile | undefined): AllowDeny {
  if (profile === undefined) return {};
  // A pattern other than a lone `*`, which would be the default set only.
  if (profile === 'full') return { allow: ['**'] };
  return { allow: PROFILE_TOOLS[profile] };
}

function narrow(offered: readonly string[], { allow, deny = [] }: AllowDeny): readonly string[] {
  return offered.filter(
    (name) =>
      (allow === undefined || allow.some((entry) => matches(entry, name, 'allow'))) &&
      !deny.some((entry) => matches(entry, name, 'deny')),
  );
}

/** Whether an entry of a list fits a tool: a name, a pattern or a group, in any case. */
function matches(entry: string, name: string, list: 'allow' | 'deny'): boolean {
  const pattern = entry.trim().toLowerCase();
  const folded = name.toLowerCase();
  if (pattern === '*') return list === 'deny' || isDefaultTool(folded);
  if (!pattern.startsWith('group:')) return fits(pattern, folded);
  return Object.entries(TOOL_GROUPS).some(
    ([group, names]) => fits(pattern, group) && names.includes(folded),
  );
}

/** Whether a text fits a pattern in which `*` stands for any letters; linear in both. */
function fits(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const tail = rest.pop() ?? '';
  if (!text.startsWith(head) || text.length < head.length + tail.length) return false;
  let from = head.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - tail.length >= from && text.endsWith(tail);
}

function isDefaultTool(name: string): boolean {
  const folded = name.toLowerCase();
  return DEFAULT_TOOLS.includes(folded) || folded === INBOX_TOOL;
}
