/**
 * Every reason for which a session, or a person's message, is refused, and what decided a yes. Only this
 * file makes a refusal of a tool (`toldOf`, `faultOf`; the type of its text sees to it), so that each has
 * a name here and `policy.explain` can say what to change.
 */
import type { RefusalText, ToolRefusal } from '../protocol/tools/session-tools.ts';

interface RuleTraits {
  /** configuration paths that decide it; `agents.list[]` = the entry of the caller's agent */
  settings: readonly string[];
  says: string;
}

const VISIBILITY = 'tools.sessions.visibility';
const AGENT_TO_AGENT = 'tools.agentToAgent';
const LOOPS = 'session.agentToAgent';
const CHILDREN = 'agents.defaults.subagents';
const ATTACHMENTS = 'tools.sessions_spawn.attachments';
const ALLOW_AGENTS = 'agents.list[].subagents.allowAgents';

/** The rules that refuse. */
export const REFUSALS = {
  caller_closed: { settings: [], says: 'the session that asks is archived or deleted' },
  caller_missing: { settings: [], says: 'the session that asks has no row yet' },
  tool_closed: {
    settings: ['tools.profile', 'tools.allow', 'tools.deny', 'agents.list[].tools'].concat(
      'tools.subagents.tools',
      `${CHILDREN}.maxSpawnDepth`,
    ),
    says: 'tool policy does not offer the tool to the session that asks',
  },
  malformed: { settings: [], says: 'the words are no key, sessionId or alias' },
  not_found: { settings: [], says: 'there is no such session' },
  ambiguous_label: { settings: [], says: 'several visible sessions have the label' },
  deleted: { settings: [], says: 'the session is deleted; to every session it is not there' },
  archived: { settings: [], says: 'the session is archived and takes no messages' },
  old_transcript: { settings: [], says: 'the sessionId is from before a reset' },
  reserved: {
    settings: ['session.scope'],
    says: 'a row "unknown", or "global" outside of global scope, is no session to anybody',
  },
  visibility_self: { settings: [VISIBILITY], says: 'the level shows the session itself alone' },
  visibility_tree: { settings: [VISIBILITY], says: 'the caller has not spawned it' },
  visibility_agent: { settings: [VISIBILITY], says: 'it belongs to another agent' },
  agent_to_agent_closed: {
    settings: [AGENT_TO_AGENT, VISIBILITY],
    says: 'it belongs to another agent, and both are not let through',
  },
  self_send: { settings: [], says: 'nobody sends to itself' },
  self_stop: { settings: [], says: 'nobody stops itself' },
  send_policy: { settings: ['session.sendPolicy'], says: 'the send policy denies the session' },
  loop_hops: { settings: [`${LOOPS}.maxHops`], says: 'the chain of messages is too long' },
  loop_edge: {
    settings: [`${LOOPS}.maxEdgeRepeats`],
    says: 'one session has messaged the other too often under one root',
  },
  loop_messages: {
    settings: [`${LOOPS}.maxMessagesPerRoot`],
    says: 'too many messages under one root',
  },
  queue_cap: { settings: ['messages.queue.cap'], says: 'as many messages wait as may' },
  wait_cycle: { settings: [], says: 'the wait would never end' },
  no_run: { settings: [], says: 'the session has had no run to wait for' },
  note: { settings: [], says: 'a note has no run to wait for' },
  no_creation: { settings: [], says: 'a message makes no session under such a key' },
  no_agent: { settings: ['agents.list'], says: 'the agent of the session is not configured' },
  no_runtime: { settings: ['agents.list'], says: 'an end of the exchange has no agent to speak' },
  outside_run: { settings: [], says: 'an exchange follows only what a run has sent' },
  depth: { settings: [`${CHILDREN}.maxSpawnDepth`], says: 'sub-agents nest no deeper' },
  loop: { settings: [`${LOOPS}.maxHops`], says: 'the chain of messages and spawns is too long' },
  max_children: {
    settings: [`${CHILDREN}.maxChildrenPerAgent`],
    says: 'as many sub-agents of the session are active as may be',
  },
  max_children_per_session: {
    settings: [`${CHILDREN}.maxChildrenPerSession`],
    says: 'the session has spawned as many sub-agents as it may in all',
  },
  require_agent_id: {
    settings: ['agents.list[].subagents.requireAgentId', `${CHILDREN}.requireAgentId`],
    says: 'a spawn must name an agentId',
  },
  allow_agents: {
    settings: [ALLOW_AGENTS, `${CHILDREN}.allowAgents`],
    says: 'the agent may not be spawned from here',
  },
  sandbox_inheritance: {
    settings: ['agents.list[].sandbox', 'agents.defaults.sandbox'],
    says: 'the child would run outside of the sandbox of its requester',
  },
  sandbox_required: {
    settings: ['agents.defaults.sandbox'],
    says: 'the child would not run in a sandbox',
  },
  mode_needs_thread: { settings: [], says: 'a session that stays needs a thread' },
  no_threads: { settings: [], says: 'there are no threads yet' },
  model: {
    settings: ['agents.list[].model', 'agents.defaults.model'],
    says: 'there is no such model',
  },
  budget_wider: {
    settings: ['agents.list[].budget', 'agents.defaults.budget'],
    says: 'a child may only narrow the budget above it',
  },
  budget_unpriced: {
    // no more of the providers than that: their keys are secrets
    settings: ['models.providers.*.models[].cost'],
    says: 'a budget in dollars needs a model with prices',
  },
  attachments_disabled: {
    settings: [`${ATTACHMENTS}.enabled`],
    says: 'a spawn takes no attachments here',
  },
  attachments_invalid: {
    settings: [
      `${ATTACHMENTS}.maxFiles`,
      `${ATTACHMENTS}.maxFileBytes`,
      `${ATTACHMENTS}.maxTotalBytes`,
    ],
    says: 'the attachments are too many, too large or not as they must be',
  },
} as const satisfies Record<string, RuleTraits>;

/** The rules that let a session through. */
export const GRANTS = {
  own_session: { settings: [], says: 'it is the session itself' },
  own_descendant: { settings: [VISIBILITY], says: 'the caller spawned it, at whatever depth' },
  own_agent: { settings: [VISIBILITY], says: 'it belongs to the same agent' },
  agent_to_agent: { settings: [VISIBILITY, AGENT_TO_AGENT], says: 'both agents are let through' },
  allowed_agent: {
    settings: [ALLOW_AGENTS, `${CHILDREN}.allowAgents`],
    says: 'the agent may be spawned under from here',
  },
  operator: { settings: [], says: 'an operator may write to every session' },
} as const satisfies Record<string, RuleTraits>;

/** Faults of the call itself: their text says all, and no setting would change them. */
export const FAULTS = {
  arguments: 'an argument is missing, unknown or out of its range',
  cursor: 'the cursor is of another query, or none',
  words: 'there is nothing in the words to search for',
  key_used: 'the idempotencyKey stands for another job',
  unknown_tool: 'there is no such tool',
  inbox: 'the session has no inbox, or the reply is to no message that it has in hand',
  attachments: 'the files could not be put into the workspace of the child',
  failed: 'the gateway could not do it',
} as const satisfies Record<string, string>;

export type FaultName = keyof typeof FAULTS;
export type RefusalRule = keyof typeof REFUSALS;
export type GrantRule = keyof typeof GRANTS;

/** A refusal before it is told: the door leaves the rule out. */
export interface Refusal {
  status: 'error' | 'forbidden';
  error: string;
  rule: RefusalRule;
  /** what decided, where it is not the setting of the table; with its value when it is the session's own */
  setting?: { name: string; value?: unknown };
}

/** Returns what the caller is told of a refusal: never the rule, which would tell hidden from missing. */
export function toldOf({ status, error }: Refusal): ToolRefusal {
  return { status, error: error as RefusalText };
}

/** Returns what the caller is told of a fault of its call. */
export function faultOf(_name: FaultName, error: string): ToolRefusal {
  return { status: 'error', error: error as RefusalText };
}

/** A rule that decided, of the list it is in. */
export type DecidedBy = { allowed: false; rule: RefusalRule } | { allowed: true; rule: GrantRule };

/** Returns the configuration paths behind a rule. */
export function settingsOf(by: DecidedBy): readonly string[] {
  return traitsOf(by).settings;
}

/** Returns the rule in words. */
export function saysOf(by: DecidedBy): string {
  return traitsOf(by).says;
}

function traitsOf(by: DecidedBy): RuleTraits {
  return by.allowed ? GRANTS[by.rule] : REFUSALS[by.rule];
}
