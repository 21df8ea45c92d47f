import type { ModelView } from '../protocol/answers/model-answers.ts';
import type { Config } from '../protocol/options/config.ts';
import { listAgents } from './agents.ts';
import {
  contextWindowOf,
  formatModel,
  modelAliases,
  modelOfSession,
  modelSettings,
  resolveModel,
  type ModelRef,
} from './models.ts';

/**
 * Returns the models that the configuration names, in its order: those that providers list, then those
 * of agents and aliases. Addresses and keys of providers are not among it.
 */
export function listModels(config: Config): ModelView[] {
  const aliases = aliasesByModel(config);
  const refs = [
    ...Object.entries(config.models.providers).flatMap(([provider, { models }]) =>
      models.map(({ id }): ModelRef => ({ provider, id })),
    ),
    ...listAgents(config).map((agent) => modelOfSession(config, agent)),
    ...[...modelAliases(config).values()].flatMap((name) => {
      const resolved = resolveModel(config, name);
      return resolved.ok ? [resolved.model] : [];
    }),
  ];
  const byName = new Map(refs.map((ref) => [formatModel(ref), ref]));
  return [...byName].map(([name, ref]) => toView(config, { ref, alias: aliases.get(name) }));
}

function toView(
  config: Config,
  { ref, alias }: { ref: ModelRef; alias: string | undefined },
): ModelView {
  const { name = ref.id, reasoning = false, input = ['text'] } = modelSettings(config, ref) ?? {};
  return {
    id: ref.id,
    name,
    provider: ref.provider,
    ...(alias === undefined ? {} : { alias }),
    contextWindow: contextWindowOf(config, ref),
    reasoning,
    input: [...input],
  };
}

/** The first alias of each model. */
function aliasesByModel(config: Config): Map<string, string> {
  const aliases = new Map<string, string>();
  for (const [alias, name] of modelAliases(config)) {
    const resolved = resolveModel(config, name);
    if (!resolved.ok) continue;
    const model = formatModel(resolved.model);
    if (!aliases.has(model)) aliases.set(model, alias);
  }
  return aliases;
}
