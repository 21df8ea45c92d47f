/**
 * Between our transcript format and the library's message types. They are almost the same; what
 * the library adds for itself stays out of the transcript.
 */
import { randomUUID } from 'node:crypto';
import type {
  AssistantMessage as PiAssistantMessage,
  Message as PiMessage,
  ToolCall as PiToolCall,
} from '@earendil-works/pi-ai';
import type {
  AssistantMessage,
  Message,
  StopReason,
  ToolCallBlock,
  Usage,
} from '../../protocol/message.ts';
import { unparsedArguments, usableArguments } from '../../protocol/tools/usable-arguments.ts';

const NO_USAGE: Usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** Returns a transcript message as the library takes it. */
export function toPiMessage(message: Message): PiMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.content, timestamp: message.timestamp };
    case 'toolResult': {
      // Details are for people; models read the content.
      const { details: _details, ...rest } = message;
      return rest;
    }
    case 'assistant': {
      const { errorMessage: _errorMessage, usage, stopReason, ...rest } = message;
      return {
        ...rest,
        content: message.content.map((block) =>
          block.type === 'toolCall'
            ? { ...block, arguments: block.arguments as PiToolCall['arguments'] }
            : block,
        ),
        usage: usage ?? NO_USAGE,
        // The library leaves failed messages out. What is in a context was found worth keeping.
        stopReason: stopReason === 'error' || stopReason === 'aborted' ? 'stop' : stopReason,
      };
    }
  }
}

/**
 * Returns a model's message as it enters the transcript. A message that failed, was aborted or was
 * cut by the length limit loses its tool calls: their arguments may be torn, nobody will run them.
 */
export function fromPiMessage(message: PiAssistantMessage): AssistantMessage {
  const stopReason = toStopReason(message.stopReason);
  const isTorn = stopReason !== 'stop' && stopReason !== 'toolUse';
  const ids = new Set<string>();
  return {
    role: 'assistant',
    content: message.content.flatMap((block): AssistantMessage['content'] => {
      switch (block.type) {
        case 'text':
          return block.text === '' ? [] : [{ type: 'text', text: block.text }];
        case 'thinking':
          return [toThinkingBlock(block)];
        case 'toolCall':
          return isTorn ? [] : [toToolCallBlock(block, ids)];
      }
    }),
    api: message.api,
    provider: message.provider,
    model: message.model,
    ...toUsage(message.usage),
    stopReason,
    ...(message.errorMessage === undefined ? {} : { errorMessage: message.errorMessage }),
    timestamp: message.timestamp,
  };
}

function toStopReason(reason: PiAssistantMessage['stopReason']): StopReason {
  return reason === 'pending' || reason === 'deferred' ? 'error' : reason;
}

function toThinkingBlock(
  block: Extract<PiAssistantMessage['content'][number], { type: 'thinking' }>,
): Extract<AssistantMessage['content'][number], { type: 'thinking' }> {
  return {
    type: 'thinking',
    thinking: block.thinking,
    ...(block.thinkingSignature === undefined
      ? {}
      : { thinkingSignature: block.thinkingSignature }),
    ...(block.redacted ? { redacted: true as const } : {}),
  };
}

/** Some servers send no id, or one id twice; results are matched by id, so each call gets its own. */
function toToolCallBlock(call: PiToolCall, ids: Set<string>): ToolCallBlock {
  const id = call.id === '' || ids.has(call.id) ? `call_${randomUUID().slice(0, 13)}` : call.id;
  ids.add(id);
  return {
    type: 'toolCall',
    id,
    name: call.name,
    // Arguments that are no JSON object must not run as empty ones: the tool refuses this name.
    arguments:
      call.argumentsError === undefined
        ? usableArguments(call.arguments)
        : unparsedArguments(call.argumentsError),
  };
}

/** All zeros is how the library says that the model reported nothing. */
function toUsage(usage: PiAssistantMessage['usage']): { usage?: Usage } {
  const { input, output, cacheRead, cacheWrite, totalTokens, cost } = usage;
  if (input + output + cacheRead + cacheWrite === 0) return {};
  return {
    usage: {
      input,
      output,
      cacheRead,
      cacheWrite,
      totalTokens,
      cost: {
        input: cost.input,
        output: cost.output,
        cacheRead: cost.cacheRead,
        cacheWrite: cost.cacheWrite,
        total: cost.total,
      },
    },
  };
}
