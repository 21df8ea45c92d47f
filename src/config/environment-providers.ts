import type { Config } from '../protocol/options/config.ts';
import type { ProviderSettings } from '../protocol/options/model-options.ts';
import type { Environment } from './env-references.ts';

interface UsualProvider {
  id: string;
  keyName: string;
  /** model in effect when the configuration names none */
  defaultModel: string;
  settings: Omit<ProviderSettings, 'apiKey' | 'models'>;
}

const USUAL_PROVIDERS: UsualProvider[] = [
  {
    id: 'anthropic',
    keyName: 'ANTHROPIC_API_KEY',
    defaultModel: 'anthropic/claude-sonnet-5-5',
    settings: { baseUrl: 'https://api.anthropic.com', api: 'anthropic-messages' },
  },
  {
    id: 'openai',
    keyName: 'OPENAI_API_KEY',
    defaultModel: 'openai/gpt-5.5',
    settings: { baseUrl: 'https://api.openai.com/v1', api: 'openai-completions' },
  },
];

/**
 * Adds the providers whose usual key is in the environment, unless one of that name is configured.
 * Where the configuration names no model at all, the first of them gives it.
 */
export function addEnvironmentProviders(
  config: Config,
  env: Environment,
): { config: Config; added: string[] } {
  const providers = { ...config.models.providers };
  const found = USUAL_PROVIDERS.filter(
    ({ id, keyName }) => (env[keyName] ?? '') !== '' && !Object.hasOwn(providers, id),
  );
  if (found.length === 0) return { config, added: [] };
  const namesModel = Object.keys(providers).length > 0;
  for (const { id, keyName, settings } of found)
    providers[id] = { ...settings, apiKey: env[keyName], models: [] };
  const defaults = { ...config.agents.defaults };
  if (!namesModel) defaults.model ??= found[0]?.defaultModel;
  return {
    config: {
      ...config,
      models: { ...config.models, providers },
      agents: { ...config.agents, defaults },
    },
    added: found.map(({ id }) => id),
  };
}
