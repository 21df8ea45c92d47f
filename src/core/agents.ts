/** The configured agents, and under which of them a session may spawn (SPEC B7.3, B8). */
import type { Config } from '../protocol/options/config.ts';
import type { ToolPolicyEntry } from '../protocol/options/tool-options.ts';
import type { ThinkingLevel } from '../protocol/words.ts';
import { fold } from './key-grammar.ts';
import { normaliseAgentId } from './keys.ts';

/** The tool policy of an agent as configured. */
interface ToolPolicySettings extends ToolPolicyEntry {
  byProvider: Record<string, ToolPolicyEntry>;
}

/** One agent as configured, with what `agents.defaults` adds to it. */
export interface AgentSettings {
  id: string;
  name?: string;
  isDefault: boolean;
  /** folder of its files, absent = the default one of `workspaceOf` */
  workspace?: string;
  /** own model as written: `provider/id` or an alias; absent = `agents.defaults.model` */
  model?: string;
  thinking: ThinkingLevel;
  subagents: {
    /** absent = itself only */
    allowAgents?: string[];
    model?: string;
    thinking?: ThinkingLevel;
    requireAgentId: boolean;
  };
  tools: ToolPolicySettings;
  /** its own, without that of `agents.defaults` */
  budget?: NonNullable<Config['agents']['defaults']['budget']>;
}

type AgentEntry = Config['agents']['entries'][string];
type ModelChoice = AgentEntry['model'];

/** Returns the configured agents in the order of the configuration; without any, one agent `main`. */
export function listAgents(config: Config): AgentSettings[] {
  const entries = agentEntries(config);
  const defaultId = (entries.find((entry) => entry.settings?.default === true) ?? entries[0])?.id;
  return entries.map(({ id, settings }) => toSettings(config, { id, settings, defaultId }));
}

/** Returns the agent with this id, compared after normalisation, or undefined when it is not configured. */
export function findAgent(config: Config, id: string): AgentSettings | undefined {
  const wanted = normaliseAgentId(id);
  return listAgents(config).find((agent) => agent.id === wanted);
}

/** Returns the first agent marked `default`, else the first one, else `main`. */
export function defaultAgentId(config: Config): string {
  return listAgents(config).find((agent) => agent.isDefault)?.id ?? 'main';
}

/** Under which agents a session may spawn. */
export interface SpawnTargets {
  /** the allow list has `*` */
  allowAny: boolean;
  /** configured ids, the requester first, the others sorted */
  ids: string[];
}

/**
 * Returns the agents that `agents_list` shows and `sessions_spawn` accepts for a requester: itself,
 * and those of its allow list that are configured. The one answer to both.
 */
export function spawnTargets(config: Config, requesterAgentId: string): SpawnTargets {
  const requester = findAgent(config, requesterAgentId);
  // Its agent was taken out of the configuration: nothing that it could spawn under is left.
  if (requester === undefined) return { allowAny: false, ids: [] };
  const allowed = new Set<string>();
  let allowAny = false;
  for (const name of requester.subagents.allowAgents ?? []) {
    if (name.trim() === '*') allowAny = true;
    // Not `normaliseAgentId`: it makes an id of any text, `main` of `---`, and `x` of `../x`.
    else allowed.add(fold(name));
  }
  const others = listAgents(config)
    .map((agent) => agent.id)
    .filter((id) => id !== requester.id && (allowAny || allowed.has(id)))
    .sort();
  return { allowAny, ids: [requester.id, ...others] };
}

/**
 * Returns the folder of an agent's files: its own, else `agents.defaults.workspace` (or
 * `<state>/workspace`), with `-<id>` added for every agent but the default one.
 */
export function workspaceOf(
  config: Config,
  { agentId, stateDir }: { agentId: string; stateDir: string },
): string {
  const agent = findAgent(config, agentId);
  if (agent?.workspace !== undefined) return agent.workspace;
  const base = config.agents.defaults.workspace ?? `${stateDir}/workspace`;
  return agent?.isDefault === true ? base : `${base}-${normaliseAgentId(agentId)}`;
}

/** Returns the model that a `model` option names first. */
export function primaryModel(choice: ModelChoice): string | undefined {
  return typeof choice === 'object' ? choice.primary : choice;
}

function agentEntries(config: Config): { id: string; settings: AgentEntry | undefined }[] {
  const { list, entries } = config.agents;
  const all = [
    ...list.map((settings) => ({ id: normaliseAgentId(settings.id), settings })),
    ...Object.entries(entries).map(([id, settings]) => ({ id: normaliseAgentId(id), settings })),
  ];
  return all.length > 0 ? all : [{ id: 'main', settings: undefined }];
}

function toSettings(
  config: Config,
  entry: { id: string; settings: AgentEntry | undefined; defaultId: string | undefined },
): AgentSettings {
  const { id, settings } = entry;
  const defaults = config.agents.defaults;
  return {
    id,
    isDefault: id === entry.defaultId,
    thinking: settings?.thinking ?? defaults.thinking ?? 'off',
    subagents: {
      requireAgentId: settings?.subagents.requireAgentId ?? defaults.subagents.requireAgentId,
      ...given('allowAgents', settings?.subagents.allowAgents ?? defaults.subagents.allowAgents),
      ...given('model', primaryModel(settings?.subagents.model)),
      ...given('thinking', settings?.subagents.thinking),
    },
    tools: {
      ...given('profile', settings?.tools.profile),
      ...given('allow', settings?.tools.allow),
      ...given('deny', settings?.tools.deny),
      byProvider: settings?.tools.byProvider ?? {},
    },
    ...given('budget', settings?.budget),
    ...given('name', settings?.name),
    ...given('workspace', settings?.workspace),
    ...given('model', primaryModel(settings?.model)),
  };
}

function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
}
