/** The published client `openai` against `/v1`, unchanged: agents as models. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openLink } from '../helpers/cuttable-link.ts';
import { startWorld, type TestWorld } from '../helpers/test-world.ts';

type Json = Record<string, unknown>;
/** What of the client is used here; its own types need it installed. */
interface Choice {
  index: number;
  message: { role: string; content: string | null; refusal: string | null };
  finish_reason: string;
}
interface Chunk {
  id: string;
  choices: { delta: { content?: string }; finish_reason: string | null }[];
  usage?: { total_tokens: number } | null;
}
interface Model {
  id: string;
  object: string;
}
type Ask = (body: Json, options?: { headers?: Json; signal?: AbortSignal }) => Promise<never>;
interface OpenAi {
  models: { list(): Promise<{ data: Model[] }>; retrieve(id: string): Promise<Model> };
  chat: { completions: { create: Ask; stream(body: Json): { finalContent(): Promise<string> } } };
}
type ErrorClass = new (...given: never[]) => Error & { status?: number; type?: string };
type OpenAiClass = (new (options: Json) => OpenAi) &
  Record<
    | 'APIError'
    | 'APIUserAbortError'
    | 'AuthenticationError'
    | 'BadRequestError'
    | 'ConflictError'
    | 'InternalServerError'
    | 'NotFoundError'
    | 'PermissionDeniedError'
    | 'RateLimitError',
    ErrorClass
  >;
interface Completion {
  id: string;
  object: string;
  model: string;
  choices: Choice[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

// a name that the compiler does not look for: the package is installed beside these tests alone
const PACKAGE: string = 'openai';
const { OpenAI } = (await import(PACKAGE)) as { OpenAI: OpenAiClass };

const OPEN = { gateway: { http: { endpoints: { chatCompletions: { enabled: true } } } } };

/** A gateway, and the client as its documentation says to make it: it retries twice by itself. */
async function start(t: TestContext, config: Json = {}): Promise<[TestWorld, OpenAi]> {
  const world = await startWorld(t, { config: { ...OPEN, ...config } });
  return [world, clientOf(world)];
}

function clientOf({ gateway }: TestWorld, options: Json = {}): OpenAi {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token, ...options });
}

const say = (content: string, more: Json = {}): Json => ({
  model: 'trunkline/a',
  messages: [{ role: 'user', content }],
  ...more,
});
/** A whole answer. */
const ask = (client: OpenAi, ...given: Parameters<Ask>): Promise<Completion> =>
  client.chat.completions.create(...given);
/** The pieces of an answer as they come. */
const stream = (client: OpenAi, ...[body, options]: Parameters<Ask>) =>
  client.chat.completions.create({ ...body, stream: true }, options) as Promise<
    AsyncIterable<Chunk>
  >;
const textOf = (chunks: readonly Chunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
const runsOf = async ({ client }: TestWorld): Promise<Json[]> =>
  (await client.request<{ runs: Json[] }>('runs.list', {})).runs;

test('[OA7] openai lists the agents as models, and asks for one by its name', async (t) => {
  const [, client] = await start(t);
  const { data } = await client.models.list();
  const names = ['trunkline/default', 'trunkline/a', 'trunkline/b', 'trunkline/c'];
  assert.deepEqual(
    data.map(({ id, object }) => [id, object]),
    names.map((id) => [id, 'model']),
  );
  assert.equal((await client.models.retrieve('trunkline/b')).id, 'trunkline/b');
  await assert.rejects(client.models.retrieve('trunkline/none'), OpenAI.NotFoundError);
});

test('[OA7] openai reads a whole answer, and a streamed one in order with its end and usage', async (t) => {
  const [, client] = await start(t);
  const whole = await ask(client, say('SAY: hello there'));
  assert.deepEqual([whole.object, whole.model], ['chat.completion', 'trunkline/a']);
  const [choice, ...more] = whole.choices;
  assert.deepEqual(more, []);
  assert.deepEqual(choice?.message, {
    role: 'assistant',
    content: 'hello there',
    refusal: null,
  });
  assert.equal(choice.finish_reason, 'stop');
  const { prompt_tokens, completion_tokens, total_tokens } = whole.usage;
  assert.ok(completion_tokens > 0 && prompt_tokens > 0);
  assert.equal(total_tokens, prompt_tokens + completion_tokens);

  const chunks: Chunk[] = [];
  const body = say('CHUNKS: 5\nSAY: one two three four five', {
    stream_options: { include_usage: true },
  });
  for await (const chunk of await stream(client, body)) chunks.push(chunk);
  assert.equal(textOf(chunks), 'one two three four five');
  assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
  const ends = chunks.map(({ choices }) => choices[0]?.finish_reason);
  assert.deepEqual(ends.slice(-2), ['stop', undefined]);
  assert.ok(ends.slice(0, -2).every((end) => end === null));
  assert.ok((chunks.at(-1)?.usage?.total_tokens ?? 0) > 0);
  const helper = client.chat.completions.stream(say('CHUNKS: 3\nSAY: one two three'));
  assert.equal(await helper.finalContent(), 'one two three');
});

test('[OA7] openai chooses the session by user and header, and each other call is one of its own', async (t) => {
  const [world, client] = await start(t);
  await ask(client, say('SAY: one', { user: 'ann' }));
  await ask(client, say('SAY: two', { user: 'ann' }));
  await ask(client, say('SAY: three', { user: 'bob' }));
  const headers = { 'x-openclaw-session-key': 'agent:b:direct:eve' };
  await ask(client, say('SAY: four', { user: 'ann' }), { headers });
  const counts: Record<string, number> = {
    'agent:a:openai:ann': 4,
    'agent:a:openai:bob': 2,
    'agent:b:direct:eve': 2,
  };
  for (const [key, count] of Object.entries(counts))
    assert.equal((await world.history(key)).length, count, key);
  await Promise.all([ask(client, say('SAY: x')), ask(client, say('SAY: y'))]);
  const keys = (await runsOf(world)).map(({ sessionKey }) => String(sessionKey));
  const own = keys.filter((key) => key.includes(':openai:') && counts[key] === undefined);
  assert.equal(new Set(own).size, 2, String(keys));
  assert.deepEqual(await world.history('main'), []);
});

test('[OA7] openai throws each refusal as the error that it has for it, in words, asked once', async (t) => {
  const [world, client] = await start(t);
  const stranger = clientOf(world, { apiKey: 'wrong' });
  const page = clientOf(world, { defaultHeaders: { origin: 'https://evil.example' } });
  const headers = { 'idempotency-key': 'job' };
  await ask(client, say('SAY: first'), { headers });
  const asked: number[] = [];
  const counting = clientOf(world, {
    fetch: async (...given: Parameters<typeof fetch>) => {
      const response = await fetch(...given);
      asked.push(response.status);
      return response;
    },
  });
  const cases: [string, () => Promise<unknown>, keyof OpenAiClass, RegExp][] = [
    ['401', () => ask(stranger, say('x')), 'AuthenticationError', /401 .*token/],
    ['403', () => ask(page, say('x')), 'PermissionDeniedError', /403 .*allowedOrigins/],
    ['404', () => ask(counting, { ...say('x'), model: 'gpt-nine' }), 'NotFoundError', /"gpt-nine"/],
    ['400', () => ask(counting, say('x', { n: 3 })), 'BadRequestError', /400 n: /],
    ['tools', () => ask(counting, say('x', { tools: [] })), 'BadRequestError', /400 tools: /],
    ['409', () => ask(counting, say('other'), { headers }), 'ConflictError', /409 .*key/i],
    ['500', () => ask(counting, say('FAIL: 400 no')), 'InternalServerError', /500 .*400/],
  ];
  for (const [name, attempt, kind, says] of cases)
    await assert.rejects(attempt, (error: Error) => {
      assert.ok(error instanceof (OpenAI[kind] as ErrorClass), `${name}: ${error}`);
      assert.match(error.message, says, name);
      return true;
    });
  assert.deepEqual(asked, [404, 400, 400, 409, 500]);
  const failing = async (): Promise<void> => {
    for await (const _ of await stream(client, say('FAIL: 400 no'))) void _;
  };
  await assert.rejects(failing, (error: Error & { type?: string }) => {
    assert.ok(error instanceof OpenAI.APIError);
    assert.equal(error.type, 'run_failed');
    return true;
  });
  assert.equal((await runsOf(world)).length, 3);
});

test('[OA7] openai is told to wait once it has guessed too often', async (t) => {
  const rateLimit = { maxAttempts: 2, windowMs: 60_000, lockoutMs: 600_000, exemptLoopback: false };
  const [world] = await start(t, {
    gateway: { ...OPEN.gateway, auth: { rateLimit } },
  });
  const stranger = clientOf(world, { apiKey: 'wrong', maxRetries: 0 });
  for (let count = 0; count < 2; count += 1)
    await assert.rejects(ask(stranger, say('x')), OpenAI.AuthenticationError);
  await assert.rejects(ask(stranger, say('x')), OpenAI.RateLimitError);
});

test('[OA7] openai that gives an answer up leaves its run going, for whoever asks again under its key', async (t) => {
  const [world, client] = await start(t);
  const held = world.model.hold('slow');
  const body = say('slow\nSAY: done at last', { user: 'ann' });
  const headers = { 'idempotency-key': 'job' };
  for (const begin of [ask, stream]) {
    const client1 = new AbortController();
    const given = (async () => {
      const answer = await begin(client, body, { headers, signal: client1.signal });
      if (Symbol.asyncIterator in answer) for await (const _ of answer) client1.abort();
    })();
    await held.arrived();
    if (begin === ask) client1.abort();
    await given.catch((error: unknown) => assert.ok(error instanceof OpenAI.APIUserAbortError));
    assert.ok(client1.signal.aborted);
  }
  const [run] = await runsOf(world);
  assert.equal(run?.['messageState'], 'running');
  held.release();
  const again = await ask(client, body, { headers });
  assert.equal(again.choices[0]?.message.content, 'done at last');
  assert.equal(world.model.requests.length, 1);
  assert.equal((await world.history('agent:a:openai:ann')).length, 2);
});

test('[OA6, OA7] openai that asks again by itself, because the connection broke, is one run', async (t) => {
  const [world] = await start(t);
  const link = await openLink(t, Number(new URL(world.gateway.url).port));
  const client = clientOf(world, { baseURL: `${link.url}/v1` });
  const held = world.model.hold('slow');
  const body = say('slow\nSAY: once', { user: 'ann' });
  const asked = ask(client, body, { headers: { 'idempotency-key': 'job' } });
  await held.arrived();
  link.cut();
  await link.connected(2);
  held.release();
  assert.equal((await asked).choices[0]?.message.content, 'once');
  assert.equal(world.model.requests.length, 1);
  assert.equal((await world.history('agent:a:openai:ann')).length, 2);
});
