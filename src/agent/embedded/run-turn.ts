/** One turn on a model provider. This module loads the model libraries; import it lazily. */
import {
  runAgentLoopContinue,
  type AgentContext,
  type AgentEvent,
  type AgentLoopConfig,
  type AgentTool as PiTool,
  type StreamFn,
} from '@earendil-works/pi-agent-core';
import type { Message as PiMessage } from '@earendil-works/pi-ai';
import { anthropicMessagesApi } from '@earendil-works/pi-ai/api/anthropic-messages.lazy';
import { openAICompletionsApi } from '@earendil-works/pi-ai/api/openai-completions.lazy';
import { withoutAttachmentContents } from '../../core/redact-attachments.ts';
import { toolCallsOf, type AssistantMessage } from '../../protocol/message.ts';
import { must } from '../../util/assert.ts';
import type { Logger } from '../../util/logger.ts';
import type { ToolSpec, Turn, TurnHost } from '../runtime.ts';
import { fromPiMessage, toPiMessage } from './convert-messages.ts';
import { describeFailure } from './describe-failure.ts';
import type { ModelProvider } from './model-provider.ts';
import { withRetries } from './retrying-stream.ts';
import { toPiModel } from './to-pi-model.ts';

interface TurnInput {
  turn: Turn;
  host: TurnHost;
  signal: AbortSignal;
  provider: ModelProvider;
  logger: Logger;
}

/**
 * Runs the loop of a turn and resolves with its final message. What the model sees next is what
 * the host has committed: before each request the context is built anew from that, so the loop's
 * own bookkeeping never decides anything.
 */
export async function runTurn(input: TurnInput): Promise<AssistantMessage> {
  const { turn, host, signal } = input;
  const committed = turn.messages.map(toPiMessage);
  let final: AssistantMessage | undefined;

  const onEvent = async (event: AgentEvent): Promise<void> => {
    if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta') {
      host.delta(event.assistantMessageEvent.delta);
    }
    if (event.type !== 'message_end' || event.message.role !== 'assistant') return;
    const message = fromPiMessage(event.message);
    if (toolCallsOf(message).length === 0) {
      final = message;
      return;
    }
    const results = await host.toolCalls(message);
    committed.push(toPiMessage(withoutAttachmentContents(message)), ...results.map(toPiMessage));
  };

  const context = toContext(turn, committed, host.closing());
  await runAgentLoopContinue(
    context,
    {
      ...(await toRequestOptions(input)),
      convertToLlm: (messages) => messages,
      toolExecution: 'sequential',
      prepareRequest: () => ({ context: toContext(turn, committed, host.closing()) }),
      finishTurn: () => (final === undefined ? undefined : { action: 'end' }),
    },
    onEvent,
    signal,
    toStreamFn(input),
  );
  return must(final, 'the loop ended without a final message');
}

/** The system prompt and the declarations of the tools travel as the first message. */
function toContext(turn: Turn, committed: PiMessage[], closing: string | undefined): AgentContext {
  const tools = closing === undefined ? turn.tools.map(toStandIn) : [];
  const declared = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  const system: PiMessage = {
    role: 'system',
    content: closing === undefined ? turn.systemPrompt : `${turn.systemPrompt}\n\n${closing}`,
    ...(declared.length === 0 ? {} : { toolsAdded: declared }),
    timestamp: 0,
  };
  return { messages: [system, ...committed], tools };
}

/** The host has done the call by the time the loop gets here; this result is replaced by the committed one. */
function toStandIn(spec: ToolSpec): PiTool {
  return {
    ...spec,
    label: spec.name,
    execute: () => Promise.resolve({ content: [], details: undefined }),
  };
}

type RequestOptions = Omit<AgentLoopConfig, 'convertToLlm'>;

async function toRequestOptions({ turn, provider }: TurnInput): Promise<RequestOptions> {
  const model = await toPiModel(provider, turn);
  const hasOwnLimit =
    provider.models?.find(({ id }) => id === turn.model.id)?.maxTokens !== undefined;
  return {
    model,
    // Our key goes in by header alone: the libraries change a request by what a key looks like.
    ...(model.api === 'anthropic-messages'
      ? {
          headers: {
            'x-api-key': provider.apiKey ?? 'none',
            'anthropic-dangerous-direct-browser-access': null,
          },
        }
      : { apiKey: provider.apiKey ?? 'none' }),
    ...(turn.thinking === 'off' ? {} : { reasoning: turn.thinking }),
    ...(turn.thinking === 'xhigh' ? { thinkingBudgets: { high: 32_768 } } : {}),
    cacheRetention: 'short',
    maxRetries: 0,
    identity: { userAgent: { custom: 'trunkline' }, attribution: null },
    onPayload: (payload) => (hasOwnLimit ? undefined : withoutAnswerLimit(payload)),
  };
}

/** An answer limit that nobody configured is not sent to servers that do without; theirs may be larger. */
function withoutAnswerLimit(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null || !('max_completion_tokens' in payload)) {
    return undefined;
  }
  const { max_completion_tokens: _limit, ...rest } = payload;
  return rest;
}

function toStreamFn({ turn, host, provider, logger }: TurnInput): StreamFn {
  const api =
    provider.api === 'anthropic-messages' ? anthropicMessagesApi() : openAICompletionsApi();
  const model = `${turn.model.provider}/${turn.model.id}`;
  return withRetries(api.streamSimple.bind(api), {
    onRetry: ({ message, ...retry }) => {
      logger.warn({ runId: turn.runId, model, ...retry }, 'model call failed; trying again');
      host.retried(fromPiMessage(message));
    },
    describe: (message, reply) =>
      describeFailure({
        model,
        status: reply.status,
        retryAfterMs: reply.retryAfterMs,
        raw: message.errorMessage,
        apiKey: provider.apiKey,
      }),
  });
}
