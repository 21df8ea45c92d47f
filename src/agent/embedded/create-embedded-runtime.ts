import type { AssistantMessage } from '../../protocol/message.ts';
import { systemClock, type Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { AgentRuntime, Turn } from '../runtime.ts';
import type { ModelProvider } from './model-provider.ts';

export interface EmbeddedOptions {
  /** by provider id, as a turn's `model.provider` names it; read anew for each turn */
  providers: () => Readonly<Record<string, ModelProvider>>;
  logger: Logger;
  clock?: Clock;
}

/**
 * Returns the runtime that calls model providers over HTTP. The libraries behind it are loaded by
 * the first turn, not by this import. A turn for an unknown provider or model ends as `error`.
 */
export function createEmbeddedRuntime(options: EmbeddedOptions): AgentRuntime {
  const clock = options.clock ?? systemClock;
  return {
    kind: 'embedded',
    resume: 'transcript',
    async runTurn(turn, host, signal) {
      const providers = options.providers();
      const provider = Object.hasOwn(providers, turn.model.provider)
        ? providers[turn.model.provider]
        : undefined;
      const problem = findProblem(turn, { provider, known: Object.keys(providers) });
      if (problem !== undefined || provider === undefined) {
        return toErrorMessage(turn, { errorMessage: problem ?? '', timestamp: clock.now() });
      }
      const { runTurn } = await import('./run-turn.ts');
      return runTurn({ turn, host, signal, provider, logger: options.logger });
    },
  };
}

function findProblem(
  { model }: Turn,
  { provider, known }: { provider: ModelProvider | undefined; known: string[] },
): string | undefined {
  if (provider === undefined) {
    return `no model provider "${model.provider}"; configured: ${known.toSorted().join(', ') || 'none'} (models.providers)`;
  }
  const ids = provider.models?.map(({ id }) => id) ?? [];
  if (ids.length === 0 || ids.includes(model.id)) return undefined;
  return `provider "${model.provider}" has no model "${model.id}"; it has: ${ids.join(', ')}`;
}

function toErrorMessage(
  { model }: Turn,
  end: { errorMessage: string; timestamp: number },
): AssistantMessage {
  return {
    role: 'assistant',
    content: [],
    api: 'embedded',
    provider: model.provider,
    model: model.id,
    stopReason: 'error',
    ...end,
  };
}
