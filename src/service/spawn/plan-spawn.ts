/** Whether a session may spawn this child, and as what (A16, B7.3). */
import { type AgentSettings, findAgent, spawnTargets } from '../../core/agents.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { isSubagentKey, normaliseAgentId } from '../../core/keys.ts';
import { loopRefusal } from '../../core/loops.ts';
import { formatModel, modelForSpawn, modelOfSession, thinkingForSpawn } from '../../core/models.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsSpawnAnswer, SessionsSpawnArgs } from '../../protocol/tools/session-tools.ts';
import type { ThinkingLevel } from '../../protocol/words.ts';
import type { SessionRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';

/** What a spawn was checked to be; nothing of it is written yet. */
export interface SpawnPlan {
  agent: AgentSettings;
  model: string;
  thinking: ThinkingLevel;
}

/** Returns what the spawn is to be, or the refusal; checks in the order of B7.3 and writes nothing. */
export async function planSpawn(
  tx: WriteTx,
  config: Config,
  {
    caller,
    requester,
    args,
  }: { caller: SessionCaller; requester: SessionRow; args: SessionsSpawnArgs },
): Promise<SpawnPlan | Extract<SessionsSpawnAnswer, { error: string }>> {
  const { maxChildrenPerAgent, requireAgentId: requireByDefault } =
    config.agents.defaults.subagents;
  const depth = depthRefusal(config, { caller, requester });
  if (depth !== undefined) return depth;
  const active = await tx.sessions.countActiveChildren(caller.sessionKey);
  if (active >= maxChildrenPerAgent) {
    return forbid(
      `${active} sub-agents of this session are active, agents.defaults.subagents.maxChildrenPerAgent is ${maxChildrenPerAgent}; wait for one to end`,
    );
  }
  const own = findAgent(config, caller.agentId);
  if (args.agentId === undefined && (own?.subagents.requireAgentId ?? requireByDefault)) {
    return forbid('agentId is required here (subagents.requireAgentId); agents_list shows which');
  }
  const agentId = normaliseAgentId(args.agentId ?? caller.agentId);
  const targets = spawnTargets(config, caller.agentId);
  const agent = targets.ids.includes(agentId) ? findAgent(config, agentId) : undefined;
  if (agent === undefined) {
    return forbid(
      `agent ${agentId} may not be spawned from here (agents.list[].subagents.allowAgents of ${caller.agentId}); allowed: ${targets.ids.join(', ') || 'none'}`,
    );
  }
  const choice = {
    agent,
    param: args.model,
    caller: modelOfSession(config, own, requester.model),
  };
  const model = modelForSpawn(config, choice);
  if (!model.ok) return { status: 'error', error: model.error };
  const callerThinking = requester.thinkingLevel ?? own?.thinking ?? 'off';
  const thinking = thinkingForSpawn(config, {
    agent,
    param: args.thinking,
    caller: callerThinking,
  });
  return { agent, model: formatModel(model.model), thinking };
}

/** How deep children nest, and how long a chain of spawns and relays may become (A16, A11). */
function depthRefusal(
  config: Config,
  { caller, requester }: { caller: SessionCaller; requester: SessionRow },
): Extract<SessionsSpawnAnswer, { error: string }> | undefined {
  const { maxSpawnDepth } = config.agents.defaults.subagents;
  const isSubagent = isSubagentKey(requester.key);
  if (isSubagent && Math.max(1, requester.spawnDepth) >= maxSpawnDepth) {
    return forbid(
      `a sub-agent may not spawn sub-agents here (agents.defaults.subagents.maxSpawnDepth is ${maxSpawnDepth}); do the work here or report back`,
    );
  }
  if (caller.run === undefined) return undefined;
  const { rootRunId, hops } = caller.run;
  const loop = loopRefusal(
    { from: requester.key, to: 'a sub-agent', rootRunId },
    {
      limits: config.session.agentToAgent,
      counts: { hops: hops + 1, edgeRepeats: 0, messages: 0 },
    },
  );
  return loop === undefined ? undefined : { status: 'error', error: loop };
}

function forbid(error: string): { status: 'forbidden'; error: string } {
  return { status: 'forbidden', error };
}
