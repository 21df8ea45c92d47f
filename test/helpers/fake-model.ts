/**
 * A chat model on loopback for tests: OpenAI chat completions and Anthropic messages, streaming,
 * answering what the script in the last user text says (the language of `agent/scripted`).
 * As a program for other processes: `node test/helpers/fake-model.ts --port 0 [--talk]`.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Message } from '../../src/protocol/message.ts';
import { planScene, readScene } from '../../src/agent/scripted/scene.ts';
import type { Plan } from '../../src/agent/scripted/script.ts';
import { FAKE_APIS, type FakeApi, type FakeUsage } from './fake-model-apis.ts';

export interface FakeModelOptions {
  /** default: a free one */
  port?: number;
  /** answers agent-to-agent steps instead of declining them */
  talk?: boolean;
  /** Writes the script of a turn anew from what the model was told; undefined keeps the text as it is. */
  rewrite?: (userText: string, raw: string) => string | undefined;
  /** calls the tools that a script names even when they were not offered */
  careless?: boolean;
  /** What befalls a request before it is answered; called once for each, in their order. */
  disturb?: (userText: string) => { delayMs: number; failure?: Failure | undefined };
  /** Told of each request once it is answered, failed or given up by the client. */
  onHandled?: (handled: HandledRequest) => void;
}

export interface HandledRequest {
  /** as the API shows them, oldest first */
  messages: Message[];
  /** how it was answered; `gone` when the client did not wait for it */
  answer: Plan['action'] | Failure | { kind: 'gone' };
}

/** Requests whose answers are kept back. */
export interface HeldRequests {
  /** Resolves when that many of them have come in, 1 by default. */
  arrived(count?: number): Promise<void>;
  /** Answers them, and from now on keeps none back. */
  release(): void;
}

export interface RecordedRequest {
  api: 'openai-completions' | 'anthropic-messages';
  headers: IncomingMessage['headers'];
  /** the body as it came */
  raw: string;
  body: Record<string, unknown>;
}

/** How the next requests fail. */
export type Failure =
  /** an HTTP status, with a `retry-after` header when one is given */
  | { kind: 'status'; status: number; retryAfter?: string; message?: string }
  /** no answer at all until the client goes */
  | { kind: 'hang' }
  /** the start of a text, then no more until the client goes */
  | { kind: 'stall'; text: string; usage?: FakeUsage }
  /** says what it charges, and the connection breaks before any content */
  | { kind: 'charge'; usage: FakeUsage }
  /** a call with these arguments, as text; of the OpenAI API alone */
  | { kind: 'raw-tool-call'; name: string; argumentsText: string }
  /** the output limit ends the answer after this text */
  | { kind: 'length'; text: string }
  /** the connection breaks before the first byte */
  | { kind: 'drop' }
  /** the connection breaks within the arguments of a tool call */
  | { kind: 'cut-tool-call'; name: string; argumentsStart: string; text?: string };

export interface FakeModel {
  /** `http://127.0.0.1:PORT`; OpenAI clients add `/v1` */
  url: string;
  requests: RecordedRequest[];
  /** Makes the next `times` requests fail, once by default. */
  failNext(failure: Failure, times?: number): void;
  /** Forgets the failures that no request has met yet. */
  recover(): void;
  /** Keeps back the answers to the requests whose body contains the text, until they are released. */
  hold(text: string): HeldRequests;
  /** False leaves usage out of the answers. */
  reportsUsage: boolean;
  /** What the answers claim in place of an estimate. */
  usage: FakeUsage | undefined;
  /** Resolves when that many requests have come in. */
  requestCount(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts the fake and resolves once it answers. */
export async function startFakeModel(options: FakeModelOptions = {}): Promise<FakeModel> {
  const failures: Failure[] = [];
  const waiters = new Set<() => void>();
  const holds = new Set<Hold>();
  const server = createServer((request, response) => {
    void answer(request, response, { fake, failures, waiters, holds, options }).catch(() =>
      response.destroy(),
    );
  });
  const until = async (isDone: () => boolean): Promise<void> => {
    while (!isDone()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiters.add(resolve);
      await promise;
    }
  };
  const fake: FakeModel = {
    url: '',
    requests: [],
    reportsUsage: true,
    usage: undefined,
    failNext(failure, times = 1) {
      for (let count = 0; count < times; count += 1) failures.push(failure);
    },
    recover() {
      failures.length = 0;
    },
    requestCount: (count) => until(() => fake.requests.length >= count),
    hold(text) {
      const released = Promise.withResolvers<void>();
      const hold: Hold = { text, count: 0, released: released.promise };
      holds.add(hold);
      return {
        arrived: (count = 1) => until(() => hold.count >= count),
        release: () => {
          holds.delete(hold);
          released.resolve();
        },
      };
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return fake;
}

interface Hold {
  text: string;
  count: number;
  released: Promise<void>;
}

interface Desk {
  fake: FakeModel;
  failures: Failure[];
  waiters: Set<() => void>;
  holds: Set<Hold>;
  options: FakeModelOptions;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { fake, failures, waiters, holds, options }: Desk,
): Promise<void> {
  const raw = await readText(request);
  const api = FAKE_APIS.find(({ path }) => request.method === 'POST' && request.url === path);
  if (!api) return sendJson(response, 404, { error: { message: `no route ${request.url}` } });
  const body = JSON.parse(raw) as Record<string, unknown>;
  fake.requests.push({ api: api.name, headers: request.headers, raw, body });
  const hold = [...holds].find(({ text }) => raw.includes(text));
  if (hold !== undefined) hold.count += 1;
  for (const wake of waiters) wake();
  waiters.clear();

  const gone = new AbortController();
  response.on('close', () => gone.abort());
  if (hold !== undefined) await Promise.race([hold.released, once(gone.signal, 'abort')]);
  const messages = api.readMessages(body);
  const scene = readScene(messages);
  const handled = (answer: HandledRequest['answer']): void =>
    options.onHandled?.({ messages, answer });
  const trouble = options.disturb?.(scene.userText);
  if (trouble !== undefined) {
    await delay(trouble.delayMs, undefined, { signal: gone.signal }).catch(() => {});
  }
  const failure = failures.shift() ?? trouble?.failure;
  if (failure) {
    handled(failure);
    return fail(response, { failure, api, body, gone: gone.signal });
  }

  const { talk = false, careless = false } = options;
  const userText = options.rewrite?.(scene.userText, raw) ?? scene.userText;
  const offered = careless ? namedTools(userText) : api.readTools(body);
  const plan = planScene({ ...scene, userText }, { offered, talk });
  await delay(plan.sleepMs, undefined, { signal: gone.signal }).catch(() => {});
  if (gone.signal.aborted) return handled({ kind: 'gone' });
  handled(plan.action);
  const promptTokens = fake.reportsUsage ? tokensOf(raw) : undefined;
  send(response, { plan, api, body, promptTokens, claimed: fake.usage });
}

function send(
  response: ServerResponse,
  {
    plan,
    api,
    body,
    promptTokens,
    claimed,
  }: {
    plan: Plan;
    api: FakeApi;
    body: Record<string, unknown>;
    promptTokens: number | undefined;
    claimed: FakeModel['usage'];
  },
): void {
  const { action } = plan;
  if (action.kind === 'fail') {
    const status = Number.parseInt(action.message, 10) || 500;
    return sendJson(response, status, api.toError(action.message));
  }
  startStream(response);
  const reply = {
    model: String(body.model),
    text: action.kind === 'answer' ? action.text : '',
    chunks: action.kind === 'answer' ? action.chunks : 1,
    calls: action.kind === 'calls' ? action.calls : [],
  };
  const written = tokensOf(action.kind === 'answer' ? action.text : JSON.stringify(action.calls));
  const estimate =
    promptTokens === undefined ? undefined : { input: promptTokens, output: written };
  const usage = claimed ?? estimate;
  for (const event of api.toEvents(reply, usage)) response.write(event);
  response.end();
}

async function fail(
  response: ServerResponse,
  {
    failure,
    api,
    body,
    gone,
  }: {
    failure: Failure;
    api: FakeApi;
    body: Record<string, unknown>;
    gone: AbortSignal;
  },
): Promise<void> {
  const model = String(body.model);
  switch (failure.kind) {
    case 'status': {
      const headers = failure.retryAfter === undefined ? {} : { 'retry-after': failure.retryAfter };
      return sendJson(
        response,
        failure.status,
        api.toError(failure.message ?? 'scripted'),
        headers,
      );
    }
    case 'drop':
      response.destroy();
      return;
    case 'hang':
      break;
    case 'stall':
      startStream(response);
      for (const event of api.toOpening({ model, ...failure })) response.write(event);
      break;
    case 'charge':
      startStream(response);
      await new Promise((resolve) =>
        response.write(api.toStart(model, failure.usage).join(''), resolve),
      );
      response.destroy();
      return;
    case 'raw-tool-call': {
      startStream(response);
      const call = { name: failure.name, argumentsStart: failure.argumentsText };
      for (const event of api.toOpening({ model, text: '', call })) response.write(event);
      const ending = api.toEvents({ model, text: '', chunks: 1, calls: [] }, undefined).slice(1);
      for (const event of ending) response.write(event.replace('"stop"', '"tool_calls"'));
      response.end();
      return;
    }
    case 'length': {
      startStream(response);
      const reply = { model, text: failure.text, chunks: 1, calls: [] };
      for (const event of api.toEvents(reply, undefined))
        response.write(event.replace('"stop"', '"length"').replace('"end_turn"', '"max_tokens"'));
      response.end();
      return;
    }
    case 'cut-tool-call': {
      startStream(response);
      const { name, argumentsStart, text } = failure;
      const opening = api.toOpening({ model, text: text ?? '', call: { name, argumentsStart } });
      await new Promise((resolve) => response.write(opening.join(''), resolve));
      response.destroy();
      return;
    }
  }
  if (!gone.aborted) await once(gone, 'abort');
}

function startStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function namedTools(script: string): string[] {
  return [...script.matchAll(/TOOL: (\S+)/g)].map(([, name = '']) => name);
}

function tokensOf(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { port: { type: 'string' }, talk: { type: 'boolean' } },
  });
  const fake = await startFakeModel({ port: Number(values.port ?? 0), talk: values.talk ?? false });
  process.stdout.write(`fake model ready on ${fake.url}\n`);
  process.once('SIGTERM', () => void fake.close());
}
