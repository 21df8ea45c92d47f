import { findAgent, spawnTargets } from '../../core/agents.ts';
import type { SessionCaller } from '../../core/caller.ts';
import type { AgentsListed } from '../../protocol/tools/session-tool-answers.ts';
import type { ServiceContext } from '../context.ts';

/** Returns the agents that the caller may spawn under, itself first (B8). `sessions_spawn` accepts exactly these. */
export function listAgents(
  { config: currentConfig }: Pick<ServiceContext, 'config'>,
  caller: SessionCaller,
): AgentsListed {
  const config = currentConfig();
  const { allowAny, ids } = spawnTargets(config, caller.agentId);
  const agents = ids.map((id) => {
    const name = findAgent(config, id)?.name;
    return { id, ...(name !== undefined && { name }), configured: true };
  });
  return { requester: caller.agentId, allowAny, agents };
}
