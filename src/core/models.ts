/** Which model a session talks to, what it costs, and what a spawned session gets (SPEC A16, A24, B7.1). */
import type { Config } from '../protocol/options/config.ts';
import type { ModelSettings } from '../protocol/options/model-options.ts';
import type { ThinkingLevel } from '../protocol/words.ts';
import type { AgentSettings } from './agents.ts';
import { primaryModel } from './agents.ts';
import { briefly } from '../util/briefly.ts';

/** A model as it is addressed. */
export interface ModelRef {
  provider: string;
  id: string;
}

export type ModelResolution = { ok: true; model: ModelRef } | { ok: false; error: string };

/** US dollars per million tokens. */
export interface ModelPrices {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** The model of the `scripted` runtime: always there, and the one in effect when no provider is. */
export const SCRIPTED_MODEL: ModelRef = { provider: 'scripted', id: 'scripted-1' };
/** Tokens, for a model whose `contextWindow` is not configured. */
const DEFAULT_CONTEXT_WINDOW = 200_000;

const SHOWN_NAMES = 8;
/** Deepest chain of aliases; more is a circle. */
const MAX_ALIAS_STEPS = 8;

/**
 * Resolves what a caller or the configuration calls a model: an alias, or `provider/id` where the
 * provider is configured and either lists that id or lists none.
 */
export function resolveModel(config: Config, text: string): ModelResolution {
  let name = text.trim();
  const aliases = modelAliases(config);
  for (let step = 0; aliases.has(name.toLowerCase()); step++) {
    if (step === MAX_ALIAS_STEPS)
      return refused(`model alias "${briefly(text.trim())}" leads in a circle`);
    name = aliases.get(name.toLowerCase()) ?? name;
  }
  const ref = splitModel(name);
  if (ref === undefined) return refused(unknownName(config, name));
  if (isScripted(ref)) return { ok: true, model: SCRIPTED_MODEL };
  const provider = providerId(config, ref.provider);
  if (provider === undefined) return refused(unknownProvider(config, ref.provider));
  const listed = config.models.providers[provider]?.models ?? [];
  if (listed.length === 0) return { ok: true, model: { provider, id: ref.id } };
  if (listed.some((model) => model.id === ref.id))
    return { ok: true, model: { provider, id: ref.id } };
  const known = shown(listed.map((model) => `${provider}/${model.id}`));
  return refused(
    `unknown model "${briefly(ref.id)}" of provider "${briefly(provider)}"; its models are ${known}`,
  );
}

/**
 * Returns the model in effect for a session: its own override, else the agent's, else
 * `agents.defaults.model`, else the first model of the first provider, else the scripted one. A name
 * that no longer resolves is kept as written, so that its run fails by that name and not silently as another.
 */
export function modelOfSession(
  config: Config,
  agent: AgentSettings | undefined,
  override?: string | null,
): ModelRef {
  const name = override ?? agent?.model ?? primaryModel(config.agents.defaults.model);
  if (name === undefined) return firstModel(config);
  const resolved = resolveModel(config, name);
  if (resolved.ok) return resolved.model;
  return splitModel(name.trim()) ?? { provider: 'unknown', id: name.trim() };
}

/** Returns the context window of a model in tokens. */
export function contextWindowOf(config: Config, model: ModelRef): number {
  return modelSettings(config, model)?.contextWindow ?? DEFAULT_CONTEXT_WINDOW;
}

/** Returns the prices of a model, or undefined when it is unpriced. */
export function pricesOf(config: Config, model: ModelRef): ModelPrices | undefined {
  return modelSettings(config, model)?.cost;
}

/** What a spawned session's model and thinking level are chosen from. */
export interface SpawnChoice<Param, Caller> {
  /** parameter of `sessions_spawn` */
  param?: Param | undefined;
  /** the agent that the child runs under */
  agent: AgentSettings;
  caller: Caller;
}

/** Resolves the model of a spawned session: parameter, else the agent's `subagents.model`, else the default one, else the caller's. */
export function modelForSpawn(
  config: Config,
  { param, agent, caller }: SpawnChoice<string, ModelRef>,
): ModelResolution {
  const name =
    param ?? agent.subagents.model ?? primaryModel(config.agents.defaults.subagents.model);
  // The caller's may have left the configuration since: a child would fail by it (A16).
  return resolveModel(config, name ?? formatModel(caller));
}

/** Returns the thinking level of a spawned session, in the same order as its model. */
export function thinkingForSpawn(
  config: Config,
  { param, agent, caller }: SpawnChoice<ThinkingLevel, ThinkingLevel>,
): ThinkingLevel {
  return param ?? agent.subagents.thinking ?? config.agents.defaults.subagents.thinking ?? caller;
}

/** Returns `provider/id`. */
export function formatModel(model: ModelRef): string {
  return `${model.provider}/${model.id}`;
}

/** Returns every alias, folded, with what it stands for. */
export function modelAliases(config: Config): Map<string, string> {
  const aliases = new Map<string, string>();
  for (const [key, value] of Object.entries(config.agents.defaults.models)) {
    if (typeof value === 'string') aliases.set(key.trim().toLowerCase(), value.trim());
    else if (value.alias !== undefined) aliases.set(value.alias.trim().toLowerCase(), key.trim());
  }
  return aliases;
}

function firstModel(config: Config): ModelRef {
  for (const [provider, { models }] of Object.entries(config.models.providers)) {
    if (models[0] !== undefined) return { provider, id: models[0].id };
  }
  return SCRIPTED_MODEL;
}

function splitModel(name: string): ModelRef | undefined {
  const slash = name.indexOf('/');
  // The id may hold slashes itself, as those of routers do.
  if (slash < 1 || slash === name.length - 1) return undefined;
  return { provider: name.slice(0, slash), id: name.slice(slash + 1) };
}

function isScripted(ref: ModelRef): boolean {
  return ref.provider.toLowerCase() === SCRIPTED_MODEL.provider && ref.id === SCRIPTED_MODEL.id;
}

function providerId(config: Config, name: string): string | undefined {
  const ids = Object.keys(config.models.providers);
  return ids.find((id) => id === name) ?? ids.find((id) => id.toLowerCase() === name.toLowerCase());
}

/** Returns what is configured of a model, or undefined for one that its provider does not list. */
export function modelSettings(config: Config, model: ModelRef): ModelSettings | undefined {
  const providers = new Map(Object.entries(config.models.providers));
  return providers.get(model.provider)?.models.find((entry) => entry.id === model.id);
}

function unknownName(config: Config, name: string): string {
  const known = [
    ...modelAliases(config).keys(),
    ...Object.entries(config.models.providers).flatMap(([provider, { models }]) =>
      models.map((model) => `${provider}/${model.id}`),
    ),
  ];
  return `unknown model "${briefly(name)}"; use "provider/id" or an alias${known.length > 0 ? `: ${shown(known)}` : ''}`;
}

function unknownProvider(config: Config, name: string): string {
  const ids = Object.keys(config.models.providers);
  const known = ids.length > 0 ? `the providers are ${shown(ids)}` : 'no provider is configured';
  return `unknown model provider "${briefly(name)}"; ${known} (models.providers)`;
}

function shown(names: string[]): string {
  const rest = names.length - SHOWN_NAMES;
  return (
    names.slice(0, SHOWN_NAMES).map(briefly).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
  );
}

function refused(error: string): ModelResolution {
  return { ok: false, error };
}
