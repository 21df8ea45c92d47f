/** Whether a session may spawn this child, and as what (A16, B7.3). */
import { type AgentSettings, findAgent, spawnTargets } from '../../core/agents.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { isSubagentKey, normaliseAgentId } from '../../core/keys.ts';
import { loopRefusal } from '../../core/loops.ts';
import { formatModel, modelForSpawn, modelOfSession, thinkingForSpawn } from '../../core/models.ts';
import type { Refusal } from '../../core/refusals.ts';
import { type SpawnFacts, spawnRefusal } from '../../core/spawn-rules.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsSpawnArgs } from '../../protocol/tools/session-tools.ts';
import type { ThinkingLevel } from '../../protocol/words.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';

/** What a spawn was checked to be; nothing of it is written yet. */
export interface SpawnPlan {
  agent: AgentSettings;
  model: string;
  thinking: ThinkingLevel;
}

interface SpawnRequest {
  caller: SessionCaller;
  requester: SessionRow;
  args: SessionsSpawnArgs;
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
  return { agent, model: formatModel(model), thinking };
}

async function factsOf(tx: ReadTx, config: Config, request: SpawnRequest): Promise<SpawnFacts> {
  const { caller, requester, args } = request;
  const { subagents } = config.agents.defaults;
  const own = findAgent(config, caller.agentId);
  const agentId = normaliseAgentId(args.agentId ?? caller.agentId);
  const targets = spawnTargets(config, caller.agentId);
  const agent = targets.ids.includes(agentId) ? findAgent(config, agentId) : undefined;
  return {
    args,
    requester: {
      agentId: caller.agentId,
      isSubagent: isSubagentKey(requester.key),
      depth: requester.spawnDepth,
    },
    limits: subagents,
    activeChildren: await tx.sessions.countActiveChildren(caller.sessionKey),
    loop: loopOf(config, request),
    requireAgentId: own?.subagents.requireAgentId ?? subagents.requireAgentId,
    targets,
    agentId,
    agent,
    // No session is: a gateway whose `sandbox.mode` says otherwise does not start.
    sandboxed: { requester: false, child: false },
    attachmentsEnabled: config.tools.sessions_spawn.attachments.enabled,
    model:
      agent &&
      modelForSpawn(config, {
        agent,
        param: args.model,
        caller: modelOfSession(config, own, requester.model),
      }),
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
