/**
 * The one access decision (A5, B9). Every door asks it: may this session list, read, send to, stop or
 * ask that one (`decideAccess`), or spawn under that agent (`decideSpawn`)? The verb never widens what
 * visibility shows, so list ⊆ history holds by construction.
 */
import type { VisibilityLevel } from '../protocol/words.ts';
import { fitsPattern } from '../util/fits-pattern.ts';
import { fold } from './key-grammar.ts';
import type { SessionScopeSetting } from './keys.ts';
import type { GrantRule, RefusalRule } from './refusals.ts';

export type AccessVerb = 'list' | 'history' | 'send' | 'stop' | 'wait' | 'search' | 'ask';

/** `tools.agentToAgent`. An empty or missing `allow` admits every agent. */
export interface AgentToAgentPolicy {
  enabled: boolean;
  allow?: readonly string[] | undefined;
}

export type AccessDecision =
  | { allowed: true; rule: GrantRule }
  /** `text` is the same for every target of this caller, hidden or missing, but for rule `archived` */
  | { allowed: false; rule: RefusalRule; text: string };

export interface AccessQuery {
  caller: { key: string; agentId: string };
  target: { key: string; agentId: string; isDescendant: boolean; closure?: Closure | undefined };
  verb: AccessVerb;
  /** effective level, after the sandbox clamp */
  level: VisibilityLevel;
  agentToAgent: AgentToAgentPolicy;
  /** `session.scope`; in `global` the row of that name is the main session of every agent (A4) */
  scope: SessionScopeSetting;
}

/**
 * What closes a session (A21): `deleted` reads like a missing one to every session; `archived` can be
 * read, and takes nothing more.
 */
export type Closure = 'archived' | 'deleted';

/** Returns what closes the session, undefined = it is open. Ask it wherever something goes into a session. */
export function closureOf(
  session: { archivedAt: number | null; deletedAt: number | null } | undefined,
): Closure | undefined {
  if (session === undefined) return undefined;
  if (session.deletedAt !== null) return 'deleted';
  return session.archivedAt === null ? undefined : 'archived';
}

/** Verbs that put something into the target. */
const WRITING: ReadonlySet<AccessVerb> = new Set(['send', 'ask']);

/** Returns whether the caller may do that, with the rule that decided. */
export function decideAccess(query: AccessQuery): AccessDecision {
  const { target, level, verb } = query;
  if (target.closure === 'deleted') {
    return { allowed: false, rule: 'deleted', text: refusalText(level) };
  }
  const decision = decideVisible(query);
  if (!decision.allowed || target.closure === undefined || !WRITING.has(verb)) return decision;
  return { allowed: false, rule: 'archived', text: 'is archived; it takes no messages' };
}

function decideVisible({
  caller,
  target,
  level,
  agentToAgent,
  scope,
}: AccessQuery): AccessDecision {
  const deny = (rule: RefusalRule): AccessDecision => ({
    allowed: false,
    rule,
    text: refusalText(level),
  });
  const isShared = target.key === 'global' && scope === 'global';
  // A `global` row is left in the store when the scope is changed back.
  if (target.key === 'unknown' || (target.key === 'global' && !isShared)) return deny('reserved');
  if (target.key === caller.key) return { allowed: true, rule: 'own_session' };
  if (level === 'self') return deny('visibility_self');
  const sameAgent = target.agentId === caller.agentId || isShared;
  if (level === 'agent') {
    return sameAgent ? { allowed: true, rule: 'own_agent' } : deny('visibility_agent');
  }
  if (target.isDescendant) return { allowed: true, rule: 'own_descendant' };
  if (level === 'tree') return deny('visibility_tree');
  if (sameAgent) return { allowed: true, rule: 'own_agent' };
  return agentToAgentAdmits(agentToAgent, caller.agentId, target.agentId)
    ? { allowed: true, rule: 'agent_to_agent' }
    : deny('agent_to_agent_closed');
}

/** Returns whether a session may spawn under an agent, given those that its own agent may (B7.3). */
export function decideSpawn({
  callerAgentId,
  agentId,
  spawnAgentIds,
}: {
  callerAgentId: string;
  agentId: string;
  spawnAgentIds: readonly string[];
}): AccessDecision {
  if (spawnAgentIds.includes(agentId)) {
    return { allowed: true, rule: agentId === callerAgentId ? 'own_agent' : 'allowed_agent' };
  }
  return {
    allowed: false,
    rule: 'allow_agents',
    text: `agent ${agentId} may not be spawned from here (agents.list[].subagents.allowAgents of ${callerAgentId}); allowed: ${spawnAgentIds.join(', ') || 'none'}`,
  };
}

/** Returns whether the policy admits both agents; an agent always reaches itself. */
export function agentToAgentAdmits(policy: AgentToAgentPolicy, a: string, b: string): boolean {
  if (a === b) return true;
  if (!policy.enabled) return false;
  const allow = policy.allow ?? [];
  if (allow.length === 0) return true;
  return matchesAny(allow, a) && matchesAny(allow, b);
}

/** Returns whether one of the patterns, with `*` for anything, is this agent's id. */
export function matchesAny(patterns: readonly string[], agentId: string): boolean {
  return patterns.some((pattern) => fitsPattern(fold(pattern), agentId));
}

const SHOWN: Record<VisibilityLevel, string> = {
  self: 'is "self": this session sees only itself',
  tree: 'is "tree": this session sees itself and the sessions it spawned',
  agent: 'is "agent": this session sees the sessions of its own agent',
  all: 'is "all", but sessions of another agent need tools.agentToAgent to be enabled and to allow both agents',
};

/** Returns the refusal for a target that is hidden or missing. It depends on the level alone. */
export function refusalText(level: VisibilityLevel): string {
  return `no such session is visible here. tools.sessions.visibility ${SHOWN[level]}. sessions_list shows what can be addressed.`;
}

/**
 * Returns whether the caller would see every session at the place that an argument names, so that a
 * missing one may be called "not found" (A5). `agentId` undefined = the argument names no agent.
 */
export function wouldShowPlace(
  level: VisibilityLevel,
  query: {
    callerAgentId: string;
    agentId: string | undefined;
    agentToAgent: AgentToAgentPolicy;
    /** configured agents, asked when the place names none */
    agentIds: readonly string[];
  },
): boolean {
  if (level === 'self' || level === 'tree') return false;
  if (query.agentId === query.callerAgentId) return true;
  if (level === 'agent') return false;
  const { agentToAgent, callerAgentId } = query;
  if (query.agentId !== undefined) {
    return agentToAgentAdmits(agentToAgent, callerAgentId, query.agentId);
  }
  // The stranger stands for agents that only the store knows.
  return [...query.agentIds, '\u0000'].every((id) =>
    agentToAgentAdmits(agentToAgent, callerAgentId, id),
  );
}

/**
 * Returns the level in effect: a sandboxed caller that sees `spawned` only never gets more than `tree`.
 * What its agent sets for `sandbox.sessionToolsVisibility` goes before the default of all agents.
 */
export function effectiveLevel(
  level: VisibilityLevel,
  caller: { sandboxed: boolean; byDefault: SandboxReach; ofAgent?: SandboxReach | undefined },
): VisibilityLevel {
  if (!caller.sandboxed || (caller.ofAgent ?? caller.byDefault) === 'all') return level;
  return level === 'self' ? 'self' : 'tree';
}

type SandboxReach = 'spawned' | 'all';
