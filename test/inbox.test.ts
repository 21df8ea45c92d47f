/** Sessions of clients without a runtime of ours: what is sent there waits in an inbox, and ends with the client's reply. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { call, outlineOf, startWorld, type TestWorld, type WorldOptions } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
interface Inbox extends Json {
  messages: Json[];
  notes: Json[];
  waiting: number;
}
const A = 'agent:a:main';
const B = 'agent:b:main';
const C = 'agent:a:mcp:claude-code';

/** A world with the session of one client. */
async function clientWorld(
  t: Parameters<typeof startWorld>[0],
  options: WorldOptions = {},
): Promise<TestWorld> {
  const world = await startWorld(t, options);
  await world.client.request('sessions.create', { clientName: 'Claude Code' });
  return world;
}

const inbox = async (world: TestWorld, args: Json = {}, key = C): Promise<Inbox> =>
  (await world.tool('sessions_inbox', args, key)) as Inbox;
const reply = (world: TestWorld, messageId: unknown, text: string): Promise<Inbox> =>
  inbox(world, { reply: { messageId, text } });
/** Sends as a session, from outside of a run, and does not wait. */
const sendAs = async (world: TestWorld, from: string, args: Json): Promise<string> =>
  String((await world.tool('sessions_send', { sessionKey: C, timeoutSeconds: 0, ...args }, from))['runId']);
const stateOf = async (world: TestWorld, runId: string): Promise<Json> =>
  world.client.request('agent.wait', { runId, timeoutMs: 0 });
async function say(world: TestWorld, message: string): Promise<string> {
  const params = { sessionKey: C, message, idempotencyKey: randomUUID() };
  return String((await world.client.request('chat.send', params))['runId']);
}

test('[IB1] a client has one session, made under its name or its key, and found again', async (t) => {
  const world = await startWorld(t);
  const create = (params: Json): Promise<Json> => world.client.request('sessions.create', params);
  const first = await create({ clientName: 'Claude Code', displayName: 'my terminal' });
  assert.deepEqual([first['ok'], first['key'], first['created']], [true, C, true]);
  const again = await create({ clientName: ' claude  code ' });
  assert.deepEqual(again, { ...first, created: false });
  const named = await create({ key: 'agent:B:MCP:Mixed Case:x' });
  assert.equal(named['key'], 'agent:b:mcp:Mixed Case:x');
  assert.equal((await create({ clientName: '::', agentId: 'b' }))['key'], 'agent:b:mcp:client');
  const { sessions } = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
  const { kind, channel, state, displayName } = sessions.find(({ key }) => key === C) ?? {};
  assert.deepEqual(
    { kind, channel, state, displayName },
    { kind: 'other', channel: 'unknown', state: 'idle', displayName: 'my terminal' },
  );
});

test('[IB1] no session is made under a key that is not a client’s to make', async (t) => {
  const world = await startWorld(t);
  const uuid = randomUUID();
  for (const key of [`agent:a:subagent:${uuid}`, 'cron:x', 'hook:x', 'node-1', 'global', 'unknown', 'agent:none:mcp:x', 'agent:a:mcp:', '', 'agent:a:group:g']) {
    await assert.rejects(world.client.request('sessions.create', { key }), key);
  }
  await assert.rejects(world.client.request('sessions.create', {}), /give a key or a clientName/);
  const both = { key: C, agentId: 'b' };
  await assert.rejects(world.client.request('sessions.create', both), /do not go together/);
  const main = await world.client.request('sessions.create', { key: 'main' });
  assert.deepEqual([main['key'], main['created']], [A, false]);
});

test('[IB2] who sends sees the message queued, then running, and then the reply', async (t) => {
  const world = await clientWorld(t);
  const runId = await sendAs(world, B, { message: 'are you there?' });
  assert.equal((await stateOf(world, runId))['messageState'], 'queued');
  const { sessions: before } = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
  assert.equal(before.find(({ key }) => key === C)?.['state'], 'queued');
  const timeout = await world.tool('sessions_send', { sessionKey: C, message: 'x', timeoutSeconds: 0.01 }, B);
  assert.deepEqual([timeout['status'], timeout['messageState']], ['timeout', 'queued']);

  const shown = await inbox(world);
  const { acceptedAt, answerBy, ...message } = shown.messages[0] ?? {};
  assert.deepEqual(message, {
    messageId: runId,
    from: { kind: 'session', sessionKey: B, agentId: 'b' },
    text: 'are you there?',
    state: 'running',
    hops: 1,
  });
  assert.ok(Number(answerBy) > Number(acceptedAt));
  assert.deepEqual([shown.messages.length, shown.notes, shown.waiting], [1, [], 1]);
  assert.equal((await stateOf(world, runId))['messageState'], 'running');

  const waiting = world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  const next = await reply(world, runId, 'yes');
  assert.deepEqual(next['replied'], { messageId: runId, status: 'ok' });
  assert.equal(next.messages[0]?.['text'], 'x');
  const { status, outcome, reply: said } = await waiting;
  assert.deepEqual([status, outcome, said], ['ok', 'ok', 'yes']);
  const [user, assistant] = await world.history(C);
  assert.ok(user?.role === 'user' && assistant?.role === 'assistant');
  assert.equal(user.provenance?.sourceSessionKey, B);
  assert.deepEqual([assistant.provider, assistant.model, textOf(assistant)], ['client', 'claude-code', 'yes']);
});

test('[IB2, IB8] an agent waits for a client’s reply like for any other, and no exchange follows', async (t) => {
  const world = await clientWorld(t, { talk: true });
  const asked = world.say(B, `${call('sessions_send', { sessionKey: C, message: 'ping' })}\nSAY: done`);
  const shown = await untilMessage(world);
  await reply(world, shown['messageId'], 'pong NO_REPLY');
  assert.equal((await asked)['status'], 'ok');
  await world.quiet();
  const [answer] = await world.toolAnswers(B);
  assert.deepEqual([answer?.['status'], answer?.['reply']], ['ok', 'pong']);
  const exchange = await world.client.request('exchanges.get', { runId: shown['messageId'] });
  assert.deepEqual([exchange['state'], exchange['endReason']], ['done', 'no_runtime']);
  assert.deepEqual(exchange['announce'], { state: 'none', reason: 'no_runtime' });
});

/** The door shows what has come beside the answer of another call. */
async function untilMessage(world: TestWorld): Promise<Json> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = world.store.onSignal(() => resolve());
    const [message] = (await inbox(world)).messages;
    if (message === undefined) await promise;
    stop();
    if (message !== undefined) return message;
  }
}

test('[IB3] one message at a time, in the order of acceptance, whoever sends; reading again changes nothing', async (t) => {
  const world = await clientWorld(t);
  const ids = [
    await sendAs(world, B, { message: 'one' }),
    await say(world, 'two'),
    await sendAs(world, 'agent:c:main', { message: 'three' }),
  ];
  const shown = await inbox(world);
  const before = await world.store.read((tx) => tx.lanes.get(C));
  assert.deepEqual(await inbox(world), shown);
  assert.deepEqual(await world.store.read((tx) => tx.lanes.get(C)), before, 'nothing was written');
  assert.deepEqual([shown.messages[0]?.['messageId'], shown.waiting], [ids[0], 2]);
  const second = await reply(world, ids[0], '1');
  assert.deepEqual(second.messages.map(({ messageId, from }) => [messageId, from]), [[ids[1], { kind: 'person' }]]);
  const third = await reply(world, ids[1], '2');
  assert.deepEqual([third.messages[0]?.['messageId'], third.waiting], [ids[2], 0]);
  assert.deepEqual((await reply(world, ids[2], '')).messages, []);
  assert.deepEqual(outlineOf(await world.history(C)), [
    'user: one',
    'assistant: 1',
    'user: two',
    'assistant: 2',
    'user: three',
    'assistant: ',
  ]);
  const { status, reply: said } = await stateOf(world, String(ids[2]));
  assert.deepEqual([status, said], ['ok', '']);
});
