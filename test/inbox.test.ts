/** Sessions of clients without a runtime of ours: what is sent there waits in an inbox, and ends with the client's reply. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type Message, textOf } from '../src/protocol/message.ts';
import { runCli } from './helpers/captured-io.ts';
import { makeStateDir } from './helpers/gateway-process.ts';
import { openGateway } from './helpers/open-gateway.ts';
import {
  call,
  outlineOf,
  startWorld,
  type TestWorld,
  type WorldOptions,
} from './helpers/test-world.ts';

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
  String(
    (await world.tool('sessions_send', { sessionKey: C, timeoutSeconds: 0, ...args }, from))[
      'runId'
    ],
  );
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
  for (const key of [
    `agent:a:subagent:${uuid}`,
    'cron:x',
    'hook:x',
    'node-1',
    'global',
    'unknown',
    'agent:none:mcp:x',
    'agent:a:mcp:',
    '',
    'agent:a:group:g',
  ]) {
    await assert.rejects(world.client.request('sessions.create', { key }), key);
  }
  const both = { key: C, agentId: 'b' };
  await assert.rejects(world.client.request('sessions.create', both), /do not go together/);
  const main = await world.client.request('sessions.create', { key: 'main' });
  assert.deepEqual([main['key'], main['created']], [A, false]);
});

test('[IB2] who sends sees the message queued, then running, and then the reply', async (t) => {
  const world = await clientWorld(t);
  const runId = await sendAs(world, B, { message: 'are you there?' });
  assert.equal((await stateOf(world, runId))['messageState'], 'queued');
  const { sessions: before } = await world.client.request<{ sessions: Json[] }>(
    'sessions.list',
    {},
  );
  assert.equal(before.find(({ key }) => key === C)?.['state'], 'queued');
  const timeout = await world.tool(
    'sessions_send',
    { sessionKey: C, message: 'x', timeoutSeconds: 0.01 },
    B,
  );
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
  assert.deepEqual(await world.store.read((tx) => tx.usage.callsOf(runId)), [], 'none of ours');
  const [user, assistant] = await world.history(C);
  assert.ok(user?.role === 'user' && assistant?.role === 'assistant');
  assert.equal(user.provenance?.sourceSessionKey, B);
  assert.deepEqual(
    [assistant.provider, assistant.model, textOf(assistant)],
    ['client', 'claude-code', 'yes'],
  );
});

test('[IB2, IB8] an agent waits for a client’s reply like for any other, and no exchange follows', async (t) => {
  const world = await clientWorld(t, { talk: true });
  const asked = world.say(
    B,
    `${call('sessions_send', { sessionKey: C, message: 'ping' })}\nSAY: done`,
  );
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
  assert.deepEqual(
    second.messages.map(({ messageId, from }) => [messageId, from]),
    [[ids[1], { kind: 'person' }]],
  );
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

test('[IB4] the same reply again has the same answer, another one is refused', async (t) => {
  const world = await clientWorld(t);
  const runId = await sendAs(world, B, { message: 'q' });
  await inbox(world);
  const first = await reply(world, runId, 'a\0b');
  assert.deepEqual(first, {
    messages: [],
    notes: [],
    waiting: 0,
    replied: { messageId: runId, status: 'ok' },
  });
  const later = await sendAs(world, B, { message: 'q2' });
  const again = await reply(world, runId, 'a\0b');
  assert.deepEqual(again['replied'], first['replied']);
  assert.equal(again.messages[0]?.['messageId'], later);
  const other = await reply(world, runId, 'c');
  assert.equal(other['status'], 'error');
  assert.match(String(other['error']), /was answered already/);
  assert.equal((await stateOf(world, runId))['reply'], 'a\uFFFDb');
  assert.equal((await world.history(C)).length, 3);
});

test('[IB4] a reply names the message in hand; any other id is refused and changes nothing', async (t) => {
  const world = await clientWorld(t);
  await world.client.request('sessions.create', { clientName: 'codex' });
  const mine = await sendAs(world, B, { message: 'one' });
  const second = await sendAs(world, B, { message: 'two' });
  const codex = 'agent:a:mcp:codex';
  const foreign = await sendAs(world, B, { sessionKey: codex, message: 'for codex' });
  await inbox(world, {}, codex);
  const texts: string[] = [];
  for (const id of [foreign, randomUUID()]) {
    const { status, error } = await reply(world, id, 'x');
    assert.equal(status, 'error');
    texts.push(String(error).replace(id.slice(0, 80), 'ID'));
  }
  assert.equal(texts[0], texts[1], 'a message of another client is as unknown as none');
  assert.match(String((await reply(world, mine, 'x'))['error']), /not handed over yet/);
  await inbox(world);
  assert.match(String((await reply(world, second, 'x'))['error']), /not handed over yet/);
  assert.equal((await stateOf(world, foreign))['messageState'], 'running');
  assert.equal((await stateOf(world, second))['messageState'], 'queued');
});

test('[IB4] a reply may be long or empty; what is none names what it must be', async (t) => {
  const world = await clientWorld(t);
  const runId = await sendAs(world, B, { message: 'q' });
  await inbox(world);
  for (const bad of [
    'x',
    {},
    { messageId: runId },
    { messageId: ' ', text: 'x' },
    { messageId: runId, text: 'x'.repeat(1_000_001) },
  ]) {
    const { status, error } = await inbox(world, { reply: bad });
    assert.equal(status, 'error');
    assert.match(String(error), /^reply of sessions_inbox must be an object \{messageId, text\}/);
    assert.ok(String(error).length < 400);
  }
  const long = 'é'.repeat(1_000_000);
  assert.deepEqual((await reply(world, runId, long))['replied'], {
    messageId: runId,
    status: 'ok',
  });
  assert.equal((await stateOf(world, runId))['reply'], long);
  const silent = await sendAs(world, B, { message: 'q' });
  await inbox(world);
  await reply(world, silent, 'NO_REPLY');
  const waited = await world.tool(
    'sessions_send',
    { sessionKey: C, message: 'q', timeoutSeconds: 0.01 },
    B,
  );
  assert.equal(waited['status'], 'timeout');
  assert.equal((await stateOf(world, silent))['reply'], '');
});

test('[IB5] notes come with the next look, once, and start nothing', async (t) => {
  const world = await clientWorld(t);
  await sendAs(world, B, { message: 'note 1', mode: 'note' });
  const first = await inbox(world);
  assert.deepEqual(first.messages, []);
  assert.deepEqual(
    first.notes.map(({ from, text }) => [from, text]),
    [[{ kind: 'session', sessionKey: B, agentId: 'b' }, 'note 1']],
  );
  const runId = await sendAs(world, B, { message: 'q' });
  for (const message of ['note 2', 'note 3']) await sendAs(world, B, { message, mode: 'note' });
  const shown = await inbox(world, { limit: 1 });
  assert.deepEqual(
    shown.notes.map(({ text }) => text),
    ['note 2'],
  );
  assert.equal(shown['hasMoreNotes'], true);
  const rest = await inbox(world);
  assert.deepEqual(
    rest.notes.map(({ text }) => text),
    ['note 3'],
  );
  assert.equal(rest['hasMoreNotes'], undefined);
  assert.equal(rest.messages[0]?.['messageId'], runId);
  assert.deepEqual((await inbox(world)).notes, []);
  assert.deepEqual(outlineOf(await world.history(C)), [
    'user: note 1',
    'user: note 2',
    'user: q',
    'user: note 3',
  ]);
});

test('[IB5] what a client has spawned is announced in its inbox', async (t) => {
  const world = await clientWorld(t);
  const spawned = await world.tool('sessions_spawn', { task: 'SAY: result' }, C);
  assert.equal(spawned['status'], 'accepted');
  await world.quiet();
  const { notes, messages } = await inbox(world);
  assert.deepEqual(messages, []);
  assert.equal(notes.length, 1);
  assert.deepEqual(notes[0]?.['from'], {
    kind: 'session',
    sessionKey: spawned['childSessionKey'],
    agentId: 'a',
  });
  assert.match(String(notes[0]?.['text']), /Status: success[^]*result/);
  const [delivery] = await world.store.read((tx) => tx.deliveries.ofSession(C, 9));
  assert.deepEqual([delivery?.state, delivery?.reason], ['suppressed', 'no_route']);
});

test('[IB7, SO1] a stop ends what the client has in hand at once, and a later reply is refused', async (t) => {
  const world = await clientWorld(t);
  const runId = await sendAs(world, B, { message: 'q' });
  const next = await sendAs(world, B, { message: 'q2' });
  await inbox(world);
  const waiting = world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  const stopped = await world.client.request('runs.stop', { sessionKey: C });
  assert.deepEqual(stopped['runIds'], [runId]);
  const { outcome, error } = await waiting;
  assert.deepEqual([outcome, error], ['aborted', 'stopped by the operator']);
  const late = await reply(world, runId, 'too late');
  assert.equal(late['status'], 'error');
  assert.match(
    String(late['error']),
    /has ended aborted \(stopped by the operator\); it takes no reply/,
  );
  assert.equal((await inbox(world)).messages[0]?.['messageId'], next);
  assert.deepEqual((await world.client.request('chat.abort', { sessionKey: C }))['runIds'], [next]);
  assert.equal((await world.store.read((tx) => tx.lanes.get(C)))?.state, 'idle');
});

test('[IB7] an interrupt ends what the client has in hand and goes before all that waits', async (t) => {
  const world = await clientWorld(t, { config: { messages: { queue: { mode: 'interrupt' } } } });
  const first = await say(world, 'one');
  await inbox(world);
  const waits = await sendAs(world, B, { message: 'two' });
  const urgent = await say(world, 'three');
  const { outcome, error } = await stateOf(world, first);
  assert.deepEqual(
    [outcome, error],
    ['aborted', 'the run was stopped: a newer message interrupted it'],
  );
  assert.equal((await inbox(world)).messages[0]?.['messageId'], urgent);
  assert.equal((await reply(world, urgent, 'ok')).messages[0]?.['messageId'], waits);
});

test('[IB7] the time of a message counts from its hand-over; when it is over it ends `timeout`', async (t) => {
  const world = await clientWorld(t, {
    clock: 'movable',
    config: { agents: { defaults: { timeoutSeconds: 60 } } },
  });
  const runId = await sendAs(world, B, { message: 'q' });
  await world.passTime(3_600_000);
  const [message] = (await inbox(world)).messages;
  assert.equal(message?.['messageId'], runId, 'waiting is without limit');
  await world.passTime(59_000);
  assert.equal((await stateOf(world, runId))['messageState'], 'running');
  const waiting = world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  await world.passTime(1_000);
  const { outcome, error } = await waiting;
  assert.deepEqual([outcome, error], ['timeout', 'the run was stopped after 60 s, its time limit']);
  assert.match(String((await reply(world, runId, 'x'))['error']), /has ended timeout/);
  assert.deepEqual((await inbox(world)).messages, []);
});

test('[IB7, QU12] more than the cap is refused to senders; without a limit of time a message waits for its reply', async (t) => {
  const world = await clientWorld(t, {
    config: { messages: { queue: { cap: 2 } } },
  });
  const params = { sessionKey: C, message: 'zero', timeout: 0, idempotencyKey: 'k' };
  await world.client.request('agent', params);
  const [message] = (await inbox(world)).messages;
  assert.deepEqual([message?.['text'], message?.['answerBy']], ['zero', undefined]);
  for (const text of ['one', 'two']) await sendAs(world, B, { message: text });
  const refused = await world.tool('sessions_send', { sessionKey: C, message: 'four' }, B);
  assert.match(String(refused['error']), /no more than 2 may/);
  for (const text of ['p', 'q', 'r']) await say(world, text);
  const { runs } = await world.client.request<{ runs: Json[] }>('runs.list', {
    sessionKey: C,
    state: 'error',
  });
  assert.equal(runs.length, 1, 'the oldest of a person gave way');
});

test('[IB7, AR8, AR10] a reset ends what is in hand and keeps what waits; a deletion ends all', async (t) => {
  const world = await clientWorld(t);
  const ids = [];
  for (const message of ['one', 'two', 'three']) ids.push(await sendAs(world, B, { message }));
  await inbox(world);
  const reset = await world.client.request('sessions.reset', { key: C });
  assert.deepEqual(reset['stopped'], [ids[0]]);
  assert.equal((await inbox(world)).messages[0]?.['messageId'], ids[1]);
  assert.deepEqual(outlineOf(await world.history(C)), ['user: two']);
  await world.client.request('sessions.delete', { key: C });
  for (const id of ids) assert.equal((await stateOf(world, id))['outcome'], 'aborted');
  await assert.rejects(inbox(world), /is deleted and cannot act/);
  const again = await world.client.request('sessions.create', { clientName: 'claude-code' });
  assert.deepEqual([again['key'], again['created']], [C, true]);
  assert.deepEqual((await inbox(world)).messages, []);
  assert.deepEqual(await world.history(C), []);
});

test('[IB8, AC1] a hidden client is not there for others, and sends like a session from outside of a run', async (t) => {
  const world = await clientWorld(t, { config: { tools: { sessions: { visibility: 'tree' } } } });
  const hidden = await world.tool('sessions_send', { sessionKey: C, message: 'x' }, B);
  const missing = await world.tool(
    'sessions_send',
    { sessionKey: 'agent:a:mcp:none', message: 'x' },
    B,
  );
  assert.equal(hidden['status'], 'forbidden');
  assert.deepEqual(hidden, missing);
  const child = await world.tool('sessions_spawn', { task: 'SAY: up' }, C);
  await world.quiet();
  const sent = await world.tool(
    'sessions_send',
    { sessionKey: child['childSessionKey'], message: 'SAY: again' },
    C,
  );
  assert.deepEqual([sent['status'], sent['reply']], ['ok', 'again']);
});

test('[IB9] the tool is a client’s alone: agents are offered the same as before, whatever names it', async (t) => {
  const world = await clientWorld(t, { config: { tools: { profile: 'full' } } });
  await assert.rejects(
    world.tool('sessions_inbox', {}, A),
    /tool policy does not offer sessions_inbox/,
  );
  await world.say(A, 'SAY: hi');
  const tools = world.model.requests.map(({ body }) => JSON.stringify(body)).join();
  assert.ok(tools.includes('sessions_wait') && !tools.includes('sessions_inbox'));
});

test('[IB9] a deny list closes a client’s inbox by name', async (t) => {
  const world = await clientWorld(t, { config: { tools: { deny: ['sessions_inbox'] } } });
  await assert.rejects(inbox(world), /tool policy does not offer sessions_inbox/);
});

test('[IB3] a gateway that starts again leaves what a client has in hand where it is', async (t) => {
  const stateDir = makeStateDir(t, { config: {} });
  const key = 'agent:main:mcp:c';
  const before = await openGateway(t, stateDir);
  await before.client.request('sessions.create', { key });
  const ids: unknown[] = [];
  for (const message of ['one', 'two']) {
    const sent = { sessionKey: key, message, idempotencyKey: message };
    ids.push((await before.client.request('chat.send', sent))['runId']);
  }
  const look = { tool: 'sessions_inbox', args: {}, sessionKey: key };
  const shown = await before.client.request('tools.invoke', look);
  await before.close();

  const after = await openGateway(t, stateDir);
  assert.deepEqual(await after.client.request('tools.invoke', look), shown);
  const { messageState } = await after.client.request('agent.wait', {
    runId: ids[0],
    timeoutMs: 0,
  });
  assert.equal(messageState, 'running');
  for (const messageId of ids) {
    const args = { reply: { messageId, text: 'done' } };
    await after.client.request('tools.invoke', { ...look, args });
  }
  await after.settled();
  const { messages } = await after.client.request<{ messages: Message[] }>('chat.history', {
    sessionKey: key,
  });
  assert.deepEqual(outlineOf(messages), [
    'user: one',
    'assistant: done',
    'user: two',
    'assistant: done',
  ]);
});

test('[IB13] trunkline sessions inbox shows what waits and answers it', async (t) => {
  const world = await clientWorld(t);
  const runId = await sendAs(world, B, { message: 'are you\nthere?' });
  await sendAs(world, B, { message: 'a note', mode: 'note' });
  await say(world, 'and you?');
  const { url, token } = world.gateway;
  const cli = (...args: string[]) =>
    runCli(['sessions', 'inbox', ...args, '--url', url, '--token', token ?? '']);
  const shown = await cli('--as', C);
  assert.equal(shown.exitCode, 0, shown.notes);
  assert.equal(
    shown.out,
    `note from ${B}\n  a note\nmessage ${runId} from ${B}\n  are you\n  there?`,
  );
  assert.equal(shown.notes, '1 more wait');
  const answered = await cli('--as', C, '--reply', runId, 'yes');
  assert.match(answered.out, /^message \S+ from the person\n {2}and you\?$/);
  assert.equal(answered.notes, `answered ${runId}`);
  const wrong = await cli('--as', C, '--reply', runId, 'no');
  assert.deepEqual([wrong.exitCode, wrong.out], [1, '']);
  assert.match(wrong.notes, /was answered already/);
  assert.equal((await cli('--as', C, '--reply', runId)).exitCode, 2);
  const json = await cli('--as', C, '--json');
  assert.equal((JSON.parse(json.out) as Inbox).messages.length, 1);
  assert.equal((await stateOf(world, runId))['reply'], 'yes');
});
