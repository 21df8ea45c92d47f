/** Whether a session may spawn this child, and as what (A16, B7.3). */
import { type ReadAttachments, readAttachments } from '../../core/attachments.ts';
import { type AgentSettings, findAgent, spawnTargets } from '../../core/agents.ts';
import { type BudgetLimits, limitsOf } from '../../core/budget-limits.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { type ChildBudgetFacts, childLimits } from '../../core/child-budget.ts';
import { fold } from '../../core/key-grammar.ts';
import { isSubagentKey } from '../../core/keys.ts';
import { loopRefusal } from '../../core/loops.ts';
import {
  formatModel,
  type ModelRef,
  modelForSpawn,
  modelOfSession,
  pricesOf,
  thinkingForSpawn,
} from '../../core/models.ts';
import type { Refusal } from '../../core/refusals.ts';
import { type SpawnFacts, spawnRefusal } from '../../core/spawn-rules.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsSpawnArgs } from '../../protocol/tools/session-tool-args.ts';
import type { ThinkingLevel } from '../../protocol/words.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { readBudgetsOver } from '../budgets/budgets-over.ts';

/** What a spawn was checked to be; nothing of it is written yet. */
export interface SpawnPlan {
  agent: AgentSettings;
  model: string;
  thinking: ThinkingLevel;
  /** of the child's own budget, undefined = it has none */
  limits: BudgetLimits | undefined;
}

interface SpawnRequest {
  caller: SessionCaller;
  requester: SessionRow;
  args: SessionsSpawnArgs;
  /** the files of `attachmentsOf` */
  attached: ReadAttachments;
}

/** Returns what the spawn is to be, or the refusal; checks in the order of B7.3 and writes nothing. */
export async function planSpawn(
  tx: ReadTx,
  config: Config,
  request: SpawnRequest,
): Promise<SpawnPlan | Refusal> {
  const facts = await factsOf(tx, config, request);
  const refused = spawnRefusal(facts);
  if (refused !== undefined) return { ...refused.refusal, rule: refused.rule };
  const { requester, args } = request;
  const agent = must(facts.agent, 'a spawn without an agent was not refused');
  const own = findAgent(config, request.caller.agentId);
  const thinking = thinkingForSpawn(config, {
    agent,
    param: args.thinking,
    caller: requester.thinkingLevel ?? own?.thinking ?? 'off',
  });
  const model = must(facts.model?.ok ? facts.model.model : undefined, 'a spawn without a model');
  const limits = facts.budget && childLimits(facts.budget);
  return { agent, model: formatModel(model), thinking, limits };
}

/** Returns the files that a spawn gives its child, or what is wrong with them; none where they are closed, which a rule says. */
export function attachmentsOf(config: Config, { attachments }: SessionsSpawnArgs): ReadAttachments {
  const { enabled, ...limits } = config.tools.sessions_spawn.attachments;
  return readAttachments(enabled ? attachments : undefined, limits);
}

async function factsOf(tx: ReadTx, config: Config, request: SpawnRequest): Promise<SpawnFacts> {
  const { caller, requester, args, attached } = request;
  const { subagents } = config.agents.defaults;
  const own = findAgent(config, caller.agentId);
  const agentId = fold(args.agentId ?? caller.agentId);
  const targets = spawnTargets(config, caller.agentId);
  const agent = targets.ids.includes(agentId) ? findAgent(config, agentId) : undefined;
  const model =
    agent &&
    modelForSpawn(config, {
      agent,
      param: args.model,
      caller: modelOfSession(config, own, requester.model),
    });
  return {
    args,
    requester: {
      agentId: caller.agentId,
      isSubagent: isSubagentKey(requester.key),
      depth: requester.spawnDepth,
    },
    limits: subagents,
    activeChildren: await tx.sessions.countActiveChildren(caller.sessionKey),
    childrenSpawned: (await tx.windows.get(requester.sessionId))?.childrenSpawned ?? 0,
    loop: loopOf(config, request),
    requireAgentId: own?.subagents.requireAgentId ?? subagents.requireAgentId,
    targets,
    agentId,
    agent,
    // No session is: a gateway whose `sandbox.mode` says otherwise does not start.
    sandboxed: { requester: false, child: false },
    attachmentsEnabled: config.tools.sessions_spawn.attachments.enabled,
    attachmentsFlaw: attached.ok ? undefined : attached.error,
    model,
    budget:
      agent && model?.ok === true
        ? await budgetFactsOf(tx, config, { requester, args, agent, model: model.model })
        : undefined,
  };
}

async function budgetFactsOf(
  tx: ReadTx,
  config: Config,
  child: Pick<SpawnRequest, 'requester' | 'args'> & { agent: AgentSettings; model: ModelRef },
): Promise<ChildBudgetFacts> {
  const { requester, args, agent, model } = child;
  const ofAgent = agent.id === requester.agentId ? undefined : agent.budget;
  return {
    above: await readBudgetsOver(tx, config, requester),
    ofAgent: ofAgent && { agentId: agent.id, limits: limitsOf(ofAgent) },
    asked: args.budget && limitsOf(args.budget),
    model: formatModel(model),
    isPriced: pricesOf(config, model) !== undefined,
  };
}

/** How long a chain of spawns and relays may become (A11). */
function loopOf(config: Config, { caller, requester }: SpawnRequest): string | undefined {
  if (caller.run === undefined) return undefined;
  const { rootRunId, hops } = caller.run;
  const loop = loopRefusal(
    { from: requester.key, to: 'a sub-agent', rootRunId },
    {
      limits: config.session.agentToAgent,
      counts: { hops: hops + 1, edgeRepeats: 0, messages: 0 },
    },
  );
  return loop?.text;
}

/** Returns what a session is told that has no row yet, and so can be nobody's parent. */
export function missingRequester({ sessionKey }: SessionCaller): Refusal {
  return {
    status: 'error',
    error: `session ${sessionKey} not found`,
    rule: 'caller_missing',
  };
}
