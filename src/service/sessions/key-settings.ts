/** What the configuration says about keys and visibility, in the form that the rules of `core/` take. */
import type { AgentToAgentPolicy } from '../../core/access.ts';
import { defaultAgentId, listAgents } from '../../core/agents.ts';
import type { SessionScopeSetting } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { VisibilityLevel } from '../../protocol/words.ts';

export interface KeySettings {
  mainKey: string;
  scope: SessionScopeSetting;
  /** ids of the configured agents */
  agentIds: string[];
  defaultAgentId: string;
}

/** Returns the settings that decide what a key means. */
export function keySettings(config: Config): KeySettings {
  return {
    mainKey: config.session.mainKey,
    scope: config.session.scope,
    agentIds: listAgents(config).map((agent) => agent.id),
    defaultAgentId: defaultAgentId(config),
  };
}

/** Returns how far the session tools of a caller reach, and across agents. */
export function reachOf(config: Config): {
  level: VisibilityLevel;
  agentToAgent: AgentToAgentPolicy;
  scope: SessionScopeSetting;
} {
  const { sessions, agentToAgent } = config.tools;
  return { level: sessions.visibility, agentToAgent, scope: config.session.scope };
}
