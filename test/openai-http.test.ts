/** `/v1`: agents as models, for programs that speak OpenAI's HTTP. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const OPEN = { gateway: { http: { endpoints: { chatCompletions: { enabled: true } } } } };

interface Asked {
  status: number;
  /** as JSON, or each `data:` line of a stream as JSON */
  json: Json;
  headers: Headers;
  pieces: Json[];
  text: string;
}

const openWorld = (t: TestContext): Promise<TestWorld> => startWorld(t, { config: OPEN });

async function ask(
  { gateway }: TestWorld,
  body: unknown,
  {
    headers = {},
    path = '/v1/chat/completions',
  }: { headers?: Record<string, string>; path?: string } = {},
): Promise<Asked> {
  const response = await fetch(new URL(path, gateway.url), {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'));
  const pieces = lines.map((line) => JSON.parse(line.slice(6)) as Json);
  const json = text.startsWith('{') ? (JSON.parse(text) as Json) : {};
  return { status: response.status, headers: response.headers, json, pieces, text };
}

const say = (content: unknown, more: Json = {}): Json => ({
  model: 'openclaw',
  messages: [{ role: 'user', content }],
  ...more,
});
const replyOf = ({ json }: Asked): unknown =>
  (json['choices'] as { message: Json }[] | undefined)?.[0]?.message['content'];
const streamedOf = ({ pieces }: Asked): string =>
  pieces
    .flatMap(({ choices }) => choices as { delta: { content?: string } }[])
    .map(({ delta }) => delta.content ?? '')
    .join('');
const errorOf = ({ json }: Asked): Json => (json['error'] ?? {}) as Json;

test('[OA1] the paths are closed until they are enabled, and need the credential', async (t) => {
  const closed = await startWorld(t);
  assert.equal((await ask(closed, say('SAY: x'))).status, 404);
  for (const path of ['/v1/models', '/v1/models/trunkline/a'])
    assert.equal((await ask(closed, undefined, { path })).status, 404);
  const open = await openWorld(t);
  for (const authorization of ['', 'Bearer wrong'])
    for (const path of ['/v1/chat/completions', '/v1/models', '/v1/models/trunkline/a'])
      assert.equal(
        (
          await ask(open, path.includes('models') ? undefined : say('SAY: x'), {
            headers: { authorization },
            path,
          })
        ).status,
        401,
      );
  const { status } = await ask(open, say('SAY: x'), {
    headers: { origin: 'https://evil.example' },
  });
  assert.equal(status, 403);
  assert.equal((await open.client.request<Json>('runs.list', {}))['count'], 0);
});

test('[OA2] a model is an agent, by each of its names', async (t) => {
  const world = await openWorld(t);
  const { json } = await ask(world, undefined, { path: '/v1/models' });
  assert.deepEqual(
    (json['data'] as Json[]).map(({ id }) => id),
    ['trunkline/default', 'trunkline/a', 'trunkline/b', 'trunkline/c'],
  );
  const names = {
    openclaw: 'a',
    'openclaw/default': 'a',
    'openclaw/b': 'b',
    'openclaw:b': 'b',
    'agent:c': 'c',
    'trunkline/c': 'c',
    B: 'b',
  };
  for (const [model, agentId] of Object.entries(names)) {
    const user = `user of ${model}`;
    const asked = await ask(world, { ...say('SAY: hi', { user }), model });
    assert.equal(replyOf(asked), 'hi', model);
    const history = await world.history(`agent:${agentId}:openai:${user.replaceAll(':', '%3A')}`);
    assert.equal(history.length, 2, model);
  }
  for (const name of ['trunkline/b', 'trunkline%2Fb', 'openclaw'])
    assert.equal(
      (await ask(world, undefined, { path: `/v1/models/${name}` })).json['id'],
      decodeURIComponent(name),
    );
  const none = await ask(world, undefined, { path: '/v1/models/trunkline/none' });
  assert.equal(none.status, 404);
  const unknown = await ask(world, { ...say('SAY: hi'), model: 'gpt-nine' });
  assert.equal(unknown.status, 404);
  assert.match(String(errorOf(unknown)['message']), /no model "gpt-nine"/);
  const byHeader = await ask(world, say('SAY: hi', { user: 'u' }), {
    headers: { 'x-openclaw-agent-id': 'b' },
  });
  assert.equal(replyOf(byHeader), 'hi');
  assert.equal((await world.history('agent:b:openai:u')).length, 2);
});

test('[OA3] a call has a session of its own, a user one that stays, and a header names one', async (t) => {
  const world = await openWorld(t);
  await ask(world, say('SAY: one', { user: 'ann' }));
  await ask(world, say('SAY: two', { user: 'ann' }));
  assert.equal((await world.history('agent:a:openai:ann')).length, 4);
  const headers = { 'x-openclaw-session-key': 'agent:a:direct:bob' };
  await ask(world, say('SAY: three', { user: 'ann' }), { headers });
  assert.equal((await world.history('agent:a:direct:bob')).length, 2);
  for (const [key, status] of [
    ['agent:a:subagent:x', 404],
    ['cron:j', 404],
    ['global', 400],
  ] as const) {
    const refused = await ask(world, say('SAY: x'), { headers: { 'x-openclaw-session-key': key } });
    assert.equal(refused.status, status, key);
  }
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'my name is Ann' },
    { role: 'assistant', content: 'hello Ann' },
    { role: 'user', content: [{ type: 'text', text: 'SAY: known' }] },
  ];
  assert.equal(replyOf(await ask(world, { model: 'openclaw', messages })), 'known');
  const raw = world.model.requests.at(-1)?.raw ?? '';
  assert.match(raw, /be brief/);
  assert.match(raw, /my name is Ann/);
});

test('[OA3] a key in the header says the agent too, whatever the model is', async (t) => {
  const world = await openWorld(t);
  for (const [model, key, agentId] of [
    ['openclaw', 'agent:b:direct:bob', 'b'],
    ['openclaw/c', 'agent:b:direct:bob', 'b'],
    ['openclaw/c', 'main', 'c'],
    ['openclaw', 'main', 'a'],
  ] as const) {
    const headers = { 'x-openclaw-session-key': key };
    const asked = await ask(world, { ...say('SAY: hi'), model }, { headers });
    assert.equal(replyOf(asked), 'hi', `${model} ${key}`);
    const { runs } = await world.client.call('runs.list', { limit: 1 });
    assert.match(String(runs[0]?.sessionKey), new RegExp(`^agent:${agentId}:`));
  }
});

test('[OA4] a streamed answer is the whole one in pieces, and says what was used', async (t) => {
  const world = await openWorld(t);
  const options = { stream: true, stream_options: { include_usage: true } };
  const asked = await ask(world, say('CHUNKS: 5\nSAY: one two three four five', options));
  assert.equal(streamedOf(asked), 'one two three four five');
  assert.ok(asked.pieces.length > 4);
  assert.match(asked.text, /data: \[DONE\]\n\n$/);
  const ends = asked.pieces.flatMap(({ choices }) => choices as { finish_reason: unknown }[]);
  assert.deepEqual(
    ends.map(({ finish_reason }) => finish_reason).filter((reason) => reason !== null),
    ['stop'],
  );
  const { usage } = asked.pieces.at(-1) as { usage: { total_tokens: number } };
  assert.ok(usage.total_tokens > 0);
  const whole = await ask(world, say('SAY: one two three four five'));
  assert.equal(replyOf(whole), 'one two three four five');
  assert.ok((whole.json['usage'] as { total_tokens: number }).total_tokens > 0);
});

test('[OA4] silence words show in no piece', async (t) => {
  const world = await openWorld(t);
  const asked = await ask(world, say('CHUNKS: 4\nSAY: NO_REPLY', { stream: true }));
  assert.equal(streamedOf(asked), '');
  assert.equal(replyOf(await ask(world, say('SAY: NO_REPLY'))), '');
  const partly = say('CHUNKS: 4\nSAY: all is done ANNOUNCE_SKIP', { stream: true });
  assert.equal(streamedOf(await ask(world, partly)).trimEnd(), 'all is done');
});

test('[OA5] what cannot be done is said by name before any effect, and a failed run as an error', async (t) => {
  const world = await openWorld(t);
  const bad: [unknown, RegExp][] = [
    ['{', /JSON/],
    [{}, /model/],
    [{ model: 'openclaw', messages: [] }, /messages/],
    [{ model: 'openclaw', messages: [{ role: 'assistant', content: 'x' }] }, /last one/],
    [{ model: 'openclaw', messages: [{ role: 'user', content: '  ' }] }, /last one/],
    [say('x', { tools: [] }), /tools: not supported/],
    [say('x', { n: 2 }), /n:/],
    [say([{ type: 'image_url', image_url: { url: 'x' } }]), /messages\.0\.content/],
  ];
  for (const [body, says] of bad) {
    const refused = await ask(world, body);
    assert.equal(refused.status, 400, String(says));
    assert.match(String(errorOf(refused)['message']), says);
  }
  assert.equal((await world.client.request<Json>('runs.list', {}))['count'], 0);
  const failed = await ask(world, say('FAIL: 400'));
  assert.equal(failed.status, 500);
  assert.equal(errorOf(failed)['code'], 'error');
  assert.equal(failed.headers.get('x-should-retry'), 'false');
  const streamed = await ask(world, say('FAIL: 400', { stream: true }));
  assert.equal(streamed.status, 200);
  assert.ok(streamed.pieces.some(({ error }) => error !== undefined));
  assert.doesNotMatch(streamed.text, /DONE/);
});

test('[OA6] the same idempotency key is one run', async (t) => {
  const world = await openWorld(t);
  const headers = { 'idempotency-key': 'job 1' };
  const [first, second] = [
    await ask(world, say('SAY: once', { user: 'u' }), { headers }),
    await ask(world, say('SAY: once', { user: 'u' }), { headers }),
  ];
  assert.equal(first.json['id'], second.json['id']);
  assert.equal(world.model.requests.length, 1);
});

test('[OA6] that holds without a user too, and the key names one job alone', async (t) => {
  const world = await openWorld(t);
  const headers = { 'idempotency-key': 'job 1' };
  const first = await ask(world, say('SAY: once'), { headers });
  const second = await ask(world, say('SAY: once'), { headers });
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.equal(first.json['id'], second.json['id']);
  const conflict = await ask(world, say('SAY: other'), { headers });
  assert.deepEqual([conflict.status, conflict.headers.get('x-should-retry')], [409, 'false']);
  assert.equal(world.model.requests.length, 1);
});

test('[OA5] what it takes has the bounds of the other doors', async (t) => {
  const world = await openWorld(t);
  const messages = [
    { role: 'system', content: 'x'.repeat(100_001) },
    { role: 'user', content: 'SAY: x' },
  ];
  const bad: [Json, Record<string, string>, RegExp][] = [
    [say('SAY: x'), { 'idempotency-key': '' }, /idempotencyKey: must not be blank/],
    [say('SAY: x'), { 'idempotency-key': 'k'.repeat(257) }, /idempotencyKey: .*at most 256/],
    [say('SAY: x'), { 'x-openclaw-model': 'm'.repeat(257) }, /model: .*at most 256/],
    [{ model: 'openclaw', messages }, {}, /extraSystemPrompt: .*at most 100000/],
    [say('SAY: x', { user: ' ' }), {}, /user/],
  ];
  for (const [body, headers, says] of bad) {
    const refused = await ask(world, body, { headers });
    assert.equal(refused.status, 400, String(says));
    assert.match(String(errorOf(refused)['message']), says);
  }
  assert.equal((await world.client.request<Json>('runs.list', {}))['count'], 0);
});
