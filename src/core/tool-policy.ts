/**
 * Which tools a session is offered (SPEC A2, A16, B7.5). Stages, each of which only narrows:
 * profile → provider profile → global allow/deny → provider allow/deny → agent → agent-provider →
 * sandbox tools → sub-agent tools.
 */
import type { Config } from '../protocol/options/config.ts';
import type { ToolPolicyEntry } from '../protocol/options/tool-options.ts';
import { findAgent } from './agents.ts';
import type { ModelRef } from './models.ts';
import {
  CLIENT_TOOLS,
  DEFAULT_TOOLS,
  deniesServer,
  INBOX_TOOL,
  isAllowedBy,
  isDefaultTool,
  isDeniedBy,
  isGivenBackBy,
  isSessionTool,
  mayAllowServer,
  profileTools,
} from './tool-names.ts';
import type { Refusal } from './refusals.ts';

/** The session that is offered tools. */
export interface ToolQuery {
  config: Config;
  agentId: string;
  /** the model in effect: it chooses the entry of each `tools.byProvider` */
  model: ModelRef;
  isSubagent: boolean;
  isSandboxed: boolean;
  /** it has an inbox, and no runtime of ours; absent = no */
  isClient?: boolean;
  /** 0 for a session that nobody spawned */
  spawnDepth: number;
  /** names of every tool there is */
  available: readonly string[];
}

/** One list of the policy, under the path of its setting. */
type ToolStage = { setting: string } & (
  | { allow: readonly string[]; deny?: never }
  | { deny: readonly string[]; allow?: never }
);

/** Returns the tools that a session is offered, in the order of `available`. */
export function offeredTools(query: ToolQuery): string[] {
  const stages = stagesOf(query);
  return query.available.filter((name) => closingSetting(stages, { query, name }) === undefined);
}

/** Returns the setting that keeps a tool from a session, the first one in the order of the stages; undefined = it is offered. */
export function toolClosedBy(query: ToolQuery, name: string): string | undefined {
  return closingSetting(stagesOf(query), { query, name });
}

/**
 * Returns whether a session may be offered some tool of an MCP server, before anybody has asked that server which
 * tools it has. Where it says no, no tool of the server passes `offeredTools`.
 */
export function mayOfferServer(query: ToolQuery, server: string): boolean {
  const lists: { allow?: readonly string[] | undefined; deny?: readonly string[] | undefined }[] = [
    ...stagesOf(query),
    ...(query.isSubagent ? [query.config.tools.subagents.tools] : []),
  ];
  return lists.every(
    ({ allow, deny }) =>
      (deny === undefined || !deniesServer(deny, server)) &&
      (allow === undefined || mayAllowServer(allow, server)),
  );
}

function closingSetting(
  stages: readonly ToolStage[],
  { query, name }: { query: ToolQuery; name: string },
): string | undefined {
  if (name === INBOX_TOOL && query.isClient !== true) return 'it has no inbox';
  const defaults = query.isClient === true ? CLIENT_TOOLS : DEFAULT_TOOLS;
  for (const { setting, allow, deny } of stages) {
    const isClosed =
      allow === undefined ? isDeniedBy(deny, name) : !isAllowedBy(allow, { name, defaults });
    if (isClosed) return setting;
  }
  if (!isDefaultTool(name, defaults) && !namesTools(stages, query)) return 'tools.allow';
  return query.isSubagent ? closedToSubagents(query, name) : undefined;
}

/** Tools beyond the default set are offered to nobody whom no allow list or profile names them to (A2). */
function namesTools(stages: readonly ToolStage[], { config, isSubagent }: ToolQuery): boolean {
  return (
    stages.some(({ allow }) => allow !== undefined) ||
    (isSubagent && config.tools.subagents.tools.allow !== undefined)
  );
}

/** The lists before those of sub-agents, in the order of the stages. */
function stagesOf({ config, agentId, model, isSandboxed }: ToolQuery): ToolStage[] {
  const { tools } = config;
  const agent = findAgent(config, agentId)?.tools ?? { byProvider: {} };
  const path = 'agents.list[].tools';
  const provider = entryOfModel(tools.byProvider, model);
  const agentProvider = entryOfModel(agent.byProvider, model);
  const byProvider = `tools.byProvider.${provider.key}`;
  const agentByProvider = `${path}.byProvider.${agentProvider.key}`;
  return [
    ...profileStage('tools', tools),
    ...profileStage(byProvider, provider.entry),
    ...listStages('tools', tools),
    ...listStages(byProvider, provider.entry),
    ...profileStage(path, agent),
    ...listStages(path, agent),
    ...profileStage(agentByProvider, agentProvider.entry),
    ...listStages(agentByProvider, agentProvider.entry),
    ...(isSandboxed ? listStages('tools.sandbox.tools', tools.sandbox.tools) : []),
  ];
}

function profileStage(path: string, { profile }: ToolPolicyEntry): ToolStage[] {
  if (profile === undefined) return [];
  return [{ setting: `${path}.profile`, allow: profileTools(profile) }];
}

function listStages(path: string, { allow, deny }: ToolPolicyEntry): ToolStage[] {
  return [
    ...(deny === undefined ? [] : [{ setting: `${path}.deny`, deny }]),
    ...(allow === undefined ? [] : [{ setting: `${path}.allow`, allow }]),
  ];
}

/** The entry of the model itself stands in place of that of its provider. */
function entryOfModel(
  byProvider: Readonly<Record<string, ToolPolicyEntry>>,
  { provider, id }: ModelRef,
): { key: string; entry: ToolPolicyEntry } {
  const entries = Object.entries(byProvider);
  for (const wanted of [`${provider}/${id}`, provider]) {
    const found = entries.find(([key]) => key.trim().toLowerCase() === wanted.toLowerCase());
    if (found !== undefined) return { key: found[0].trim(), entry: found[1] };
  }
  return { key: provider, entry: {} };
}

/** The last stage (A16). Its deny list wins over the depth, and the depth over its allow list. */
function closedToSubagents({ config, spawnDepth }: ToolQuery, name: string): string | undefined {
  const { allow, deny = [] } = config.tools.subagents.tools;
  if (isDeniedBy(deny, name)) return 'tools.subagents.tools.deny';
  const maySpawn = spawnDepth < config.agents.defaults.subagents.maxSpawnDepth;
  const folded = name.toLowerCase();
  if (folded === 'sessions_spawn')
    return maySpawn ? undefined : 'agents.defaults.subagents.maxSpawnDepth';
  if (folded === 'agents_list' && maySpawn) return undefined;
  const isKept = isSessionTool(name)
    ? isGivenBackBy(allow ?? [], name)
    : allow === undefined || isAllowedBy(allow, { name, defaults: DEFAULT_TOOLS });
  return isKept ? undefined : 'tools.subagents.tools.allow';
}

/** Returns the refusal of a tool that a setting closes; `whom` says to which session and when. */
export function closedToolRefusal({
  tool,
  closedBy,
  whom,
}: {
  tool: string;
  closedBy: string;
  whom: string;
}): Refusal {
  return {
    status: 'forbidden',
    error: `tool policy does not offer ${tool} ${whom} (${closedBy})`,
    rule: 'tool_closed',
    setting: { name: closedBy },
  };
}
