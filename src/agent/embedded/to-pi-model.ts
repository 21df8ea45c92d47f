import type { Api, Model } from '@earendil-works/pi-ai';
import type { ThinkingLevel } from '../../protocol/words.ts';
import type { ModelRef } from '../runtime.ts';
import type { ModelProvider } from './model-provider.ts';

const DEFAULT_CONTEXT_TOKENS = 200_000;
/** Sent where the wire format demands a limit and the configuration names none. */
const DEFAULT_ANSWER_TOKENS = 8_192;

type Facts = Pick<Model<Api>, 'thinkingLevelMap' | 'contextWindow' | 'maxTokens' | 'input'> & {
  adaptiveThinking: boolean;
};

/** Returns the library's description of a configured model; facts about well-known ones fill the gaps. */
export async function toPiModel(
  provider: ModelProvider,
  { model: ref, thinking }: { model: ModelRef; thinking: ThinkingLevel },
): Promise<Model<Api>> {
  const listed = provider.models?.find(({ id }) => id === ref.id);
  const facts = await findFacts(provider.baseUrl, ref.id);
  const base = {
    id: ref.id,
    name: ref.id,
    provider: ref.provider,
    // A session has a level other than `off` because somebody asked for it, so it is always sent.
    reasoning: thinking !== 'off' || typeof facts?.thinkingLevelMap?.off === 'string',
    input: listed?.input ?? facts?.input ?? ['text' as const],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...definedOnly(listed?.cost ?? {}) },
    contextWindow: listed?.contextWindow ?? facts?.contextWindow ?? DEFAULT_CONTEXT_TOKENS,
    maxTokens: listed?.maxTokens ?? facts?.maxTokens ?? DEFAULT_ANSWER_TOKENS,
    // Without a map the library would silently lower `xhigh` to `high`.
    thinkingLevelMap: facts?.thinkingLevelMap ?? { xhigh: 'xhigh' },
  };
  if (provider.api === 'anthropic-messages') {
    return {
      ...base,
      api: 'anthropic-messages',
      // The client library adds `/v1` itself.
      baseUrl: provider.baseUrl.replace(/\/v1\/?$/, ''),
      compat: { forceAdaptiveThinking: facts?.adaptiveThinking ?? false },
    } satisfies Model<'anthropic-messages'>;
  }
  return {
    ...base,
    api: 'openai-completions',
    baseUrl: provider.baseUrl,
    compat: { supportsStore: false },
  } satisfies Model<'openai-completions'>;
}

/** The catalogues are read for the vendors' own addresses only: what another server makes of an id is its affair. */
async function findFacts(baseUrl: string, id: string): Promise<Facts | undefined> {
  const catalogue = await loadCatalogue(new URL(baseUrl).hostname);
  const entry = catalogue.find((model) => model.id === id);
  if (!entry) return undefined;
  const compat = entry.compat ?? {};
  const adaptiveThinking =
    'forceAdaptiveThinking' in compat && compat.forceAdaptiveThinking === true;
  return { ...entry, adaptiveThinking };
}

async function loadCatalogue(hostname: string): Promise<Model<Api>[]> {
  if (hostname === 'api.anthropic.com') {
    const { ANTHROPIC_MODELS } = await import('@earendil-works/pi-ai/providers/anthropic.models');
    return Object.values(ANTHROPIC_MODELS);
  }
  if (hostname === 'api.openai.com') {
    const { OPENAI_MODELS } = await import('@earendil-works/pi-ai/providers/openai.models');
    return Object.values(OPENAI_MODELS);
  }
  return [];
}

function definedOnly<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
