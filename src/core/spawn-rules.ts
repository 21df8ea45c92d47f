/**
 * The order in which a spawn is judged (B7.3), as one table: the first rule that a spawn breaks answers.
 * The arguments' shape (step 1) is judged before, by `parseToolArgs`; after the last rule the child starts.
 */
import type { SessionsSpawnArgs } from '../protocol/tools/session-tool-args.ts';
import { decideSpawn } from './access.ts';
import type { AgentSettings, SpawnTargets } from './agents.ts';
import { type ChildBudgetFacts, childBudgetFault, childPriceFault } from './child-budget.ts';
import type { ModelResolution } from './models.ts';
import type { Refusal } from './refusals.ts';

/** All that a spawn is judged by. */
export interface SpawnFacts {
  args: SessionsSpawnArgs;
  requester: { agentId: string; isSubagent: boolean; depth: number };
  limits: { maxSpawnDepth: number; maxChildrenPerAgent: number; maxChildrenPerSession: number };
  /** children of the requester whose task has not ended */
  activeChildren: number;
  /** children that it ever spawned from its transcript */
  childrenSpawned: number;
  /** why the chain of messages may not grow (A11) */
  loop?: string | undefined;
  requireAgentId: boolean;
  targets: SpawnTargets;
  /** id that the child would run under, folded */
  agentId: string;
  /** its settings, absent when it is not among the targets */
  agent?: AgentSettings | undefined;
  sandboxed: { requester: boolean; child: boolean };
  attachmentsEnabled: boolean;
  /** what is wrong with the attachments */
  attachmentsFlaw?: string | undefined;
  /** absent without an agent */
  model?: ModelResolution | undefined;
  /** absent without a model */
  budget?: ChildBudgetFacts | undefined;
}

export type SpawnRuleName =
  | 'depth'
  | 'loop'
  | 'max_children'
  | 'max_children_per_session'
  | 'require_agent_id'
  | 'allow_agents'
  | 'sandbox_inheritance'
  | 'sandbox_required'
  | 'mode_needs_thread'
  | 'no_threads'
  | 'model'
  | 'budget_wider'
  | 'budget_unpriced'
  | 'attachments_disabled'
  | 'attachments_invalid';

interface SpawnRule {
  name: SpawnRuleName;
  status: Refusal['status'];
  /** returns what is wrong and what to do, undefined = nothing */
  flaw(facts: SpawnFacts): string | undefined;
}

/** The rules in the order in which they answer. */
export const SPAWN_RULES: readonly SpawnRule[] = [
  { name: 'depth', status: 'forbidden', flaw: tooDeep },
  { name: 'loop', status: 'error', flaw: ({ loop }) => loop },
  { name: 'max_children', status: 'forbidden', flaw: tooManyChildren },
  { name: 'max_children_per_session', status: 'forbidden', flaw: tooManyEver },
  {
    name: 'require_agent_id',
    status: 'forbidden',
    flaw: ({ args, requireAgentId }) =>
      requireAgentId && args.agentId === undefined
        ? 'agentId is required here (subagents.requireAgentId); agents_list shows which'
        : undefined,
  },
  { name: 'allow_agents', status: 'forbidden', flaw: notAllowed },
  {
    name: 'sandbox_inheritance',
    status: 'forbidden',
    flaw: ({ sandboxed, agentId }) =>
      sandboxed.requester && !sandboxed.child
        ? `a sandboxed session may not spawn outside a sandbox, and agent ${agentId} runs without one (agents.list[].sandbox.mode); choose another agent`
        : undefined,
  },
  {
    name: 'sandbox_required',
    status: 'forbidden',
    flaw: ({ args, sandboxed }) =>
      args.sandbox === 'require' && !sandboxed.child
        ? 'sessions_spawn does not support sandbox: "require" yet; use "inherit"'
        : undefined,
  },
  {
    name: 'mode_needs_thread',
    status: 'error',
    flaw: ({ args }) =>
      args.mode === 'session' && args.thread !== true
        ? 'mode: "session" of sessions_spawn needs thread: true, which is not supported yet; use "run"'
        : undefined,
  },
  {
    name: 'no_threads',
    status: 'error',
    flaw: ({ args }) =>
      args.thread === true
        ? 'sessions_spawn does not support thread: true yet; leave it out and use mode "run"'
        : undefined,
  },
  {
    name: 'model',
    status: 'error',
    flaw: ({ model }) => (model?.ok === false ? model.error : undefined),
  },
  {
    name: 'budget_wider',
    status: 'error',
    flaw: ({ budget }) => budget && childBudgetFault(budget),
  },
  {
    name: 'budget_unpriced',
    status: 'error',
    flaw: ({ budget }) => budget && childPriceFault(budget),
  },
  {
    name: 'attachments_disabled',
    status: 'forbidden',
    flaw: ({ args, attachmentsEnabled }) =>
      hasAttachments(args) && !attachmentsEnabled
        ? 'attachments are closed here (tools.sessions_spawn.attachments.enabled is false); put the text into task'
        : undefined,
  },
  {
    name: 'attachments_invalid',
    status: 'error',
    flaw: ({ attachmentsFlaw }) => attachmentsFlaw,
  },
];

/** Returns the first rule that a spawn breaks, with the answer; undefined = it may start. */
export function spawnRefusal(
  facts: SpawnFacts,
): { rule: SpawnRuleName; refusal: Pick<Refusal, 'status' | 'error'> } | undefined {
  for (const { name, status, flaw } of SPAWN_RULES) {
    const error = flaw(facts);
    if (error !== undefined) return { rule: name, refusal: { status, error } };
  }
  return undefined;
}

function tooDeep({ requester, limits }: SpawnFacts): string | undefined {
  // A sub-agent of an old store may have no depth.
  if (!requester.isSubagent || Math.max(1, requester.depth) < limits.maxSpawnDepth)
    return undefined;
  return `a sub-agent may not spawn sub-agents here (agents.defaults.subagents.maxSpawnDepth is ${limits.maxSpawnDepth}); do the work here or report back`;
}

function tooManyChildren({ activeChildren, limits }: SpawnFacts): string | undefined {
  if (activeChildren < limits.maxChildrenPerAgent) return undefined;
  return `${activeChildren} sub-agents of this session are active, agents.defaults.subagents.maxChildrenPerAgent is ${limits.maxChildrenPerAgent}; wait for one to end`;
}

function tooManyEver({ childrenSpawned, limits }: SpawnFacts): string | undefined {
  const { maxChildrenPerSession: most } = limits;
  if (most === 0 || childrenSpawned < most) return undefined;
  return `this session has spawned ${childrenSpawned} sub-agents since its transcript began, agents.defaults.subagents.maxChildrenPerSession is ${most}; do the work here`;
}

function notAllowed({ agentId, requester, targets }: SpawnFacts): string | undefined {
  const callerAgentId = requester.agentId;
  const decision = decideSpawn({ callerAgentId, agentId, spawnAgentIds: targets.ids });
  return decision.allowed ? undefined : decision.text;
}

function hasAttachments({ attachments }: SessionsSpawnArgs): boolean {
  return attachments !== undefined && attachments.length > 0;
}
