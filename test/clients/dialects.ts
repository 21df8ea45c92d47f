/** The four ways in which harnesses speak to a model: what a request holds, and how an answer is written. */

type Json = Record<string, unknown>;

/** What of a request decides the answer. */
export interface ModelRequest {
  /** everything that a person or the harness wrote */
  texts: string[];
  /** texts of the tool results, in order */
  results: string[];
  /** names of the offered tools */
  tools: string[];
}
export interface ModelAnswer {
  text: string;
  call?: { name: string; args: Json } | undefined;
}
export interface Dialect {
  name: string;
  /** fits path and query */
  path: RegExp;
  read(body: Json): ModelRequest;
  /** Returns the whole body of the answer, and its media type. */
  write(answer: ModelAnswer, request: { path: string; body: Json }): { type: string; body: string };
}

const SSE = 'text/event-stream';
const JSON_TYPE = 'application/json';

let lastId = 0;
const newId = (kind: string): string => `${kind}_${(lastId += 1)}`;

function list(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

/** The text in a content of any of these forms. */
function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return list(content)
    .map((part) => (typeof part['text'] === 'string' ? part['text'] : ''))
    .join('\n');
}

function sse(events: readonly unknown[], named = false): { type: string; body: string } {
  const lines = events.map((event) => {
    const data = typeof event === 'string' ? event : JSON.stringify(event);
    const name = named ? `event: ${(event as { type: string }).type}\n` : '';
    return `${name}data: ${data}\n\n`;
  });
  return { type: SSE, body: lines.join('') };
}

const chatCompletions: Dialect = {
  name: 'openai chat completions',
  path: /\/chat\/completions/,
  read: (body) => ({
    texts: list(body['messages'])
      .filter(({ role }) => role === 'user')
      .map(({ content }) => textIn(content)),
    results: list(body['messages'])
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => textIn(content)),
    tools: list(body['tools']).map((tool) => String((tool['function'] as Json)['name'])),
  }),
  write: ({ text, call }, { body }) => {
    const calls = call && [
      {
        index: 0,
        id: newId('call'),
        type: 'function',
        function: { name: call.name, arguments: JSON.stringify(call.args) },
      },
    ];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const finish_reason = calls === undefined ? 'stop' : 'tool_calls';
    const common = { id: newId('chatcmpl'), created: 1, model: body['model'] };
    if (body['stream'] !== true) {
      const message = { role: 'assistant', content: text, tool_calls: calls };
      const choices = [{ index: 0, message, finish_reason }];
      const whole = { ...common, object: 'chat.completion', choices, usage };
      return { type: JSON_TYPE, body: JSON.stringify(whole) };
    }
    const chunk = (delta: Json, end: string | null) => ({
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: end }],
    });
    return sse([
      chunk({ role: 'assistant', content: text }, null),
      ...(calls === undefined ? [] : [chunk({ tool_calls: calls }, null)]),
      { ...chunk({}, finish_reason), usage },
      '[DONE]',
    ]);
  },
};

const responses: Dialect = {
  name: 'openai responses',
  path: /\/responses/,
  read: (body) => ({
    texts: list(body['input'])
      .filter(({ role }) => role === 'user')
      .map(({ content }) => textIn(content)),
    results: list(body['input'])
      .filter(({ type }) => type === 'function_call_output')
      .map(({ output }) => textIn(output)),
    tools: list(body['tools']).flatMap((tool) =>
      // some harnesses keep the tools of a server in a group of its name
      tool['type'] === 'namespace'
        ? list(tool['tools']).map(({ name }) => `${String(tool['name'])}/${String(name)}`)
        : [String(tool['name'])],
    ),
  }),
  write: ({ text, call }, { body }) => {
    const [namespace, name] = call?.name.includes('/')
      ? call.name.split('/')
      : [undefined, call?.name];
    const item =
      call === undefined
        ? {
            id: newId('msg'),
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text, annotations: [] }],
          }
        : {
            id: newId('fc'),
            type: 'function_call',
            status: 'completed',
            call_id: newId('call'),
            name,
            ...(namespace === undefined ? {} : { namespace }),
            arguments: JSON.stringify(call.args),
          };
    const usage = {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    };
    const response = {
      id: newId('resp'),
      object: 'response',
      created_at: 1,
      model: body['model'],
      status: 'completed',
      output: [item],
      usage,
    };
    return sse(
      [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        { type: 'response.output_item.added', output_index: 0, item },
        ...(call === undefined
          ? [
              {
                type: 'response.output_text.delta',
                item_id: item.id,
                output_index: 0,
                content_index: 0,
                delta: text,
              },
            ]
          : []),
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response },
      ].map((event, sequence_number) => ({ ...event, sequence_number })),
      true,
    );
  },
};

const messages: Dialect = {
  name: 'anthropic messages',
  path: /\/v1\/messages(\?|$)/,
  read: (body) => ({
    texts: list(body['messages'])
      .filter(({ role }) => role === 'user')
      .map(({ content }) => textIn(content)),
    results: list(body['messages'])
      .flatMap(({ content }) => list(content))
      .filter(({ type }) => type === 'tool_result')
      .map(({ content }) => textIn(content)),
    tools: list(body['tools']).map(({ name }) => String(name)),
  }),
  write: ({ text, call }, { body }) => {
    const block =
      call === undefined
        ? { type: 'text', text }
        : { type: 'tool_use', id: newId('toolu'), name: call.name, input: call.args };
    const stop_reason = call === undefined ? 'end_turn' : 'tool_use';
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = {
      id: newId('msg'),
      type: 'message',
      role: 'assistant',
      model: body['model'],
      stop_sequence: null,
      usage,
    };
    if (body['stream'] !== true)
      return {
        type: JSON_TYPE,
        body: JSON.stringify({ ...message, content: [block], stop_reason }),
      };
    const start = call === undefined ? { type: 'text', text: '' } : { ...block, input: {} };
    const delta =
      call === undefined
        ? { type: 'text_delta', text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(call.args) };
    return sse(
      [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: start },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
        { type: 'message_stop' },
      ],
      true,
    );
  },
};

const gemini: Dialect = {
  name: 'gemini',
  path: /:(streamGenerateContent|generateContent)/,
  read: (body) => {
    const parts = list(body['contents'])
      .filter(({ role }) => role !== 'model')
      .flatMap(({ parts: given }) => list(given));
    return {
      texts: parts.map(({ text }) => text).filter((text): text is string => text !== undefined),
      results: parts
        .filter((part) => part['functionResponse'] !== undefined)
        .map((part) => {
          const { output } = (part['functionResponse'] as { response: Json }).response;
          return typeof output === 'string' ? output : JSON.stringify(output);
        }),
      tools: list(body['tools']).flatMap((tool) =>
        list(tool['functionDeclarations']).map(({ name }) => String(name)),
      ),
    };
  },
  write: ({ text, call }, { path }) => {
    const part = call === undefined ? { text } : { functionCall: call };
    const whole = {
      candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: [part] } }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    };
    return path.includes('alt=sse')
      ? sse([whole])
      : { type: JSON_TYPE, body: JSON.stringify(path.includes('stream') ? [whole] : whole) };
  },
};

export const DIALECTS: readonly Dialect[] = [chatCompletions, responses, messages, gemini];
