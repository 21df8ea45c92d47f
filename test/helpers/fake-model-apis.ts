/** The two wire formats of the fake model: what a request asks, and how an answer is streamed. */
import type { Message } from '../../src/protocol/message.ts';
import { toChunks, type ScriptCall } from '../../src/agent/scripted/script.ts';

export interface FakeReply {
  model: string;
  text: string;
  chunks: number;
  calls: ScriptCall[];
}

export interface FakeUsage {
  /** without those of the cache */
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
}

export interface FakeApi {
  name: 'openai-completions' | 'anthropic-messages';
  path: string;
  readMessages(body: Record<string, unknown>): Message[];
  /** names of the offered tools */
  readTools(body: Record<string, unknown>): string[];
  toEvents(reply: FakeReply, usage: FakeUsage | undefined): string[];
  /** events of an answer that never ends: some text, then perhaps the start of a tool call */
  toOpening(opening: {
    model: string;
    text: string;
    call?: { name: string; argumentsStart: string };
    /** where the API tells it at the start */
    usage?: FakeUsage;
  }): string[];
  /** the events before any content */
  toStart(model: string, usage: FakeUsage): string[];
  toError(message: string): unknown;
}

let lastId = 0;
const nextId = (kind: string): string => `${kind}_${(lastId += 1)}`;

const openai: FakeApi = {
  name: 'openai-completions',
  path: '/v1/chat/completions',
  readMessages: (body) =>
    listOf(body.messages).flatMap((message) => {
      if (message.role === 'tool') return [toolResult(contentText(message.content))];
      if (message.role === 'assistant') return [assistant(contentText(message.content))];
      return message.role === 'user' ? [user(contentText(message.content))] : [];
    }),
  readTools: (body) =>
    listOf(body.tools).map((tool) => String((tool.function as Record<string, unknown>).name)),
  toEvents(reply, usage) {
    const event = openaiEvents(reply.model);
    const toolCalls = reply.calls.map(({ name, args }, index) => ({
      index,
      id: nextId('call'),
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }));
    return [
      event({ delta: { role: 'assistant', content: '' } }),
      ...toChunks(reply.text, reply.chunks).map((content) => event({ delta: { content } })),
      ...(toolCalls.length === 0 ? [] : [event({ delta: { tool_calls: toolCalls } })]),
      event({ delta: {}, finish_reason: toolCalls.length === 0 ? 'stop' : 'tool_calls' }),
      ...(usage ? [event(undefined, usage)] : []),
      'data: [DONE]\n\n',
    ];
  },
  toOpening({ model, text, call }) {
    const event = openaiEvents(model);
    const started = call && {
      index: 0,
      id: nextId('call'),
      type: 'function',
      function: { name: call.name, arguments: call.argumentsStart },
    };
    return [
      event({ delta: { role: 'assistant', content: text } }),
      ...(started ? [event({ delta: { tool_calls: [started] } })] : []),
    ];
  },
  toStart: (model) => [openaiEvents(model)({ delta: { role: 'assistant', content: '' } })],
  toError: (message) => ({ error: { message, type: 'server_error' } }),
};

function openaiEvents(model: string): (choice: object | undefined, usage?: FakeUsage) => string {
  const id = nextId('chatcmpl');
  return (choice, usage) => {
    const chunk = {
      id,
      object: 'chat.completion.chunk',
      created: 0,
      model,
      choices: choice ? [{ index: 0, finish_reason: null, ...choice }] : [],
      ...(usage && {
        usage: {
          prompt_tokens: usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0),
          completion_tokens: usage.output,
          ...(usage.cacheRead !== undefined && {
            prompt_tokens_details: {
              cached_tokens: usage.cacheRead,
              cache_write_tokens: usage.cacheWrite ?? 0,
            },
          }),
        },
      }),
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  };
}

const anthropic: FakeApi = {
  name: 'anthropic-messages',
  path: '/v1/messages?beta=true',
  readMessages: (body) =>
    listOf(body.messages).flatMap((message) => {
      if (message.role === 'assistant') return [assistant(contentText(message.content))];
      const results = listOf(message.content).filter((block) => block.type === 'tool_result');
      if (results.length > 0) return results.map((block) => toolResult(contentText(block.content)));
      return [user(contentText(message.content))];
    }),
  readTools: (body) => listOf(body.tools).map((tool) => String(tool.name)),
  toEvents(reply, usage) {
    const blocks = reply.calls.map(({ name, args }) => ({
      content_block: { type: 'tool_use', id: nextId('toolu'), name, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(args) }],
    }));
    const pieces = toChunks(reply.text, reply.chunks);
    const text = {
      content_block: { type: 'text', text: '' },
      deltas: pieces.map((piece) => ({ type: 'text_delta', text: piece })),
    };
    const all = pieces.length === 0 ? blocks : [text, ...blocks];
    return [
      messageStart(reply.model, usage),
      ...all.flatMap(({ content_block, deltas }, index) => [
        named('content_block_start', { index, content_block }),
        ...deltas.map((delta) => named('content_block_delta', { index, delta })),
        named('content_block_stop', { index }),
      ]),
      named('message_delta', {
        delta: { stop_reason: blocks.length === 0 ? 'end_turn' : 'tool_use', stop_sequence: null },
        usage: { output_tokens: usage?.output ?? 0 },
      }),
      named('message_stop', {}),
    ];
  },
  toOpening({ model, text, call, usage }) {
    const toolUse = call && { type: 'tool_use', id: nextId('toolu'), name: call.name, input: {} };
    const delta = call && { type: 'input_json_delta', partial_json: call.argumentsStart };
    return [
      messageStart(model, usage),
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      ...(toolUse ? [named('content_block_start', { index: 1, content_block: toolUse })] : []),
      ...(delta ? [named('content_block_delta', { index: 1, delta })] : []),
    ];
  },
  toStart: (model, usage) => [messageStart(model, usage)],
  toError: (message) => ({ type: 'error', error: { type: 'api_error', message } }),
};

function messageStart(model: string, usage: FakeUsage | undefined): string {
  return named('message_start', {
    message: {
      id: nextId('msg'),
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: usage?.input ?? 0,
        output_tokens: 0,
        cache_read_input_tokens: usage?.cacheRead ?? 0,
        cache_creation_input_tokens: usage?.cacheWrite ?? 0,
      },
    },
  });
}

function named(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

export const FAKE_APIS: readonly FakeApi[] = [openai, anthropic];

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? (value as Record<string, unknown>[]) : [];
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((block) => (typeof block.text === 'string' ? block.text : ''))
    .join('\n');
}

function user(text: string): Message {
  return { role: 'user', content: text, timestamp: 0 };
}

function assistant(text: string): Message {
  return {
    role: 'assistant',
    content: [{ type: 'text', text }],
    api: 'fake',
    provider: 'fake',
    model: 'fake',
    stopReason: 'stop',
    timestamp: 0,
  };
}

function toolResult(text: string): Message {
  return {
    role: 'toolResult',
    toolCallId: '',
    toolName: '',
    content: [{ type: 'text', text }],
    isError: false,
    timestamp: 0,
  };
}
