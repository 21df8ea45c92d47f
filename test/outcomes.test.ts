/** What becomes of a child's result and of an exchange, and where its words go. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import type { DeliveryRow } from '../src/store/delivery-repository.ts';
import type { Store } from '../src/store/store.ts';
import { call, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const B = 'agent:b:main';
const OF_CHILDREN = 'You are a sub-agent';

const deliveriesOf = (world: TestWorld, key: string): Promise<DeliveryRow[]> =>
  world.store.read((tx) => tx.deliveries.ofSession(key, 100));

async function announcesOf(world: TestWorld, key: string): Promise<DeliveryRow[]> {
  const rows = await deliveriesOf(world, key);
  return rows.filter(({ idempotencyKey }) => idempotencyKey.startsWith('announce:'));
}

/** A turn of a's main session with a chat on another channel. */
const sayOn = (world: TestWorld, route: Json, message = 'SAY: hi', sessionKey = A) =>
  world.client.runAgent({
    sessionKey,
    message,
    ...route,
    idempotencyKey: JSON.stringify([route, message]),
  });

test('[BR-044, BR-168] a child’s first model call has the model and the thinking that the spawn asked for', async (t) => {
  const world = await startWorld(t, {
    config: { agents: { defaults: { subagents: { thinking: 'high' } } } },
  });
  const first = (text: string) => world.model.requests.find(({ raw }) => raw.includes(text));
  const own = await world.tool('sessions_spawn', {
    task: 'SAY: one',
    model: 'fake/fake-2',
    thinking: 'low',
  });
  await world.client.request('agent.wait', { runId: own['runId'] });
  assert.equal(first('SAY: one')?.body['model'], 'fake-2');
  assert.equal(first('SAY: one')?.body['reasoning_effort'], 'low');
  const byDefault = await world.tool('sessions_spawn', { task: 'SAY: two' });
  await world.client.request('agent.wait', { runId: byDefault['runId'] });
  assert.equal(first('SAY: two')?.body['model'], 'fake-1');
  assert.equal(first('SAY: two')?.body['reasoning_effort'], 'high');
});

test('[BR-083] an announce goes to the topic that the spawn came from, wherever people write later', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(OF_CHILDREN);
  await sayOn(world, { channel: 'telegram', to: 'g1', threadId: '7' });
  await world.tool('sessions_spawn', { task: 'SAY: done' });
  await held.arrived();
  await sayOn(world, { channel: 'telegram', to: 'g1', threadId: '9' });
  held.release();
  await world.quiet();
  const announces = await announcesOf(world, A);
  assert.deepEqual(
    announces.map(({ channel, routeTo, threadId }) => [channel, routeTo, threadId]),
    [['telegram', 'g1', '7']],
  );
});

test('[BR-084] a result whose channel refuses it is in the transcript, and the delivery says why', async (t) => {
  const world = await startWorld(t);
  await sayOn(world, { channel: 'telegram', to: 'g1' });
  await world.tool('sessions_spawn', { task: 'SAY: kept' });
  await world.quiet();
  const [announce] = await announcesOf(world, A);
  assert.equal(announce?.state, 'failed');
  assert.match(String(announce?.reason), /no channel telegram/);
  await world.say(A, 'SAY: next');
  const notes = usersOf(await world.history(A)).filter(
    ({ provenance }) => provenance !== undefined,
  );
  assert.match(textOf(notes[0]!), /Result: kept/);
});

test('[BR-085] a result goes to the session that spawned, not to another one of the same person', async (t) => {
  const world = await startWorld(t);
  const other = 'agent:a:telegram:direct:1';
  await world.say(A, 'SAY: hi');
  await world.say(other, 'SAY: hi');
  const before = await world.history(other);
  await world.tool('sessions_spawn', { task: 'SAY: done' });
  await world.quiet();
  await world.say(A, 'SAY: next');
  assert.equal((await announcesOf(world, A)).length, 1);
  assert.equal(usersOf(await world.history(A)).filter((message) => message.provenance).length, 1);
  assert.deepEqual(await announcesOf(world, other), []);
  assert.deepEqual(await world.history(other), before);
});

test('[BR-098] a session that stays, or a thread, is refused by name as long as no channel has threads', async (t) => {
  const world = await startWorld(t);
  for (const args of [{ mode: 'session' }, { thread: true }, { thread: true, mode: 'session' }]) {
    const answer = await world.tool('sessions_spawn', { task: 'x', ...args });
    assert.equal(answer['status'], 'error');
    assert.match(
      String(answer['error']),
      /not support thread: true yet|needs thread: true, which is not supported yet/,
    );
  }
  assert.equal(await world.store.read((tx) => tx.sessions.count()), 3);
  assert.equal((await world.tool('sessions_spawn', { task: 'SAY: x' }))['mode'], 'run');
});

test('[BR-112] the announced Result is what the child said last, however slowly it is stored', async (t) => {
  const wrapStore = (store: Store): Store => ({
    read: (fn) => store.read(fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
    write: async (unit, fn) => {
      if (unit === 'close-run') await new Promise((later) => setTimeout(later, 50));
      return store.write(unit, fn);
    },
  });
  const world = await startWorld(t, { wrapStore });
  await world.say(A, 'SAY: hi');
  await world.tool('sessions_spawn', { task: 'SAY: DONE-42' });
  await world.quiet();
  const [announce] = await announcesOf(world, A);
  assert.match(announce?.text ?? '', /^Status: success\nResult: DONE-42\n/);
});

/** The steps of book-keeping around the hand-over of an announce. */
const BOOKKEEPING = ['announce-spawn', 'delivery-sending', 'delivery-booked'];
for (const failing of BOOKKEEPING) {
  test(`[BR-041] book-keeping that fails in ${failing} does not send an announce twice`, async (t) => {
    let failures = 0;
    const wrapStore = (store: Store): Store => ({
      read: (fn) => store.read(fn),
      onSignal: (listener) => store.onSignal(listener),
      close: () => store.close(),
      write: (unit, fn) =>
        store.write(unit, async (tx) => {
          const value = await fn(tx);
          if (unit === failing && failures-- > 0) throw new Error('disk full');
          return value;
        }),
    });
    const config = { agents: { defaults: { subagents: { announce: { mode: 'template' } } } } };
    const world = await startWorld(t, { wrapStore, config });
    await world.say(A, 'SAY: hi');
    const finals: unknown[] = [];
    world.client.on(({ event, payload }) => {
      const { state, deliveryId } = (payload ?? {}) as { state?: string; deliveryId?: string };
      if (event === 'chat' && state === 'final' && deliveryId?.startsWith('announce:'))
        finals.push(deliveryId);
    });
    // the reply has gone out: both failures are for the announce
    await world.quiet();
    failures = 2;
    await world.tool('sessions_spawn', { task: 'SAY: done' });
    await world.quiet();
    await world.client.request('health');
    assert.ok(failures < 0, 'the step was done again');
    const announces = await announcesOf(world, A);
    assert.deepEqual(
      announces.map(({ state }) => state),
      ['sent'],
    );
    assert.deepEqual(
      finals,
      announces.map(({ deliveryId }) => deliveryId),
    );
    assert.equal((await world.store.read((tx) => tx.inputs.pending(A, 10))).length, 1);
  });
}

test('[BR-207] a child that fails before it says anything announces no prompt and no task', async (t) => {
  const world = await startWorld(t, {
    config: { agents: { list: [{ id: 'a', default: true, name: 'Prompted Ada' }, { id: 'b' }] } },
  });
  await world.say(A, 'SAY: hi');
  const held = world.model.hold(OF_CHILDREN);
  await world.tool('sessions_spawn', { task: 'the task nobody may read', label: 'kid' });
  await held.arrived();
  world.model.failNext({ kind: 'status', status: 400, message: 'refused' });
  held.release();
  await world.quiet();
  const [announce] = await announcesOf(world, A);
  assert.match(announce?.text ?? '', /^Status: error\nResult: \(not available\)\nNotes: .*400/);
  for (const secret of ['task nobody', 'sub-agent', 'Prompted Ada', 'workspace are']) {
    assert.ok(!announce?.text.includes(secret), secret);
  }
});

test('[BR-214] an exchange that stops says why: at its limit, or because a side had no more to say', async (t) => {
  for (const [talk, endReason, turns] of [
    [true, 'max_turns', 2],
    [false, 'reply_skip', 1],
  ] as const) {
    const world = await startWorld(t, {
      talk,
      config: { session: { agentToAgent: { maxPingPongTurns: 2 } } },
    });
    await world.say(
      A,
      `${call('sessions_send', { sessionKey: B, message: 'SAY: first' })}\nSAY: ok`,
    );
    await world.quiet();
    const [answer] = await world.toolAnswers(A);
    const exchange = await world.store.read((tx) => tx.exchanges.get(String(answer?.['runId'])));
    assert.deepEqual(
      [exchange?.state, exchange?.endReason, exchange?.turns],
      ['done', endReason, turns],
    );
  }
});

test('[BR-128] a denied session refuses every message the same way, and its own runs are heard by nobody', async (t) => {
  const world = await startWorld(t);
  await world.say(B, 'SAY: hi');
  const held = world.model.hold(OF_CHILDREN);
  await world.tool('sessions_spawn', { task: 'SAY: done' }, B);
  await held.arrived();
  await world.client.request('sessions.patch', { key: B, sendPolicy: 'deny' });
  const before = await world.history(B);
  const texts: unknown[] = [];
  for (const [method, extra] of [
    ['agent', { deliver: false }],
    ['agent', {}],
    ['chat.send', {}],
  ] as const) {
    const params = {
      sessionKey: B,
      message: 'x',
      ...extra,
      idempotencyKey: `${method}${texts.length}`,
    };
    const error = await world.client.request(method, params).catch((refusal: Error) => refusal);
    texts.push(error instanceof Error ? error.message : 'accepted');
  }
  const sent = await world.tool('sessions_send', { sessionKey: B, message: 'x' });
  assert.equal(sent['status'], 'forbidden');
  texts.push(sent['error']);
  assert.match(String(texts[0]), /^send blocked by session policy/);
  assert.deepEqual(new Set(texts).size, 1);
  held.release();
  await world.quiet();
  assert.deepEqual(await world.history(B), before);
  const announces = await announcesOf(world, B);
  assert.deepEqual(
    announces.map(({ state, reason }) => [state, reason]),
    [['suppressed', 'send_policy']],
  );
});

test('[BR-127] nothing that a denied session has to say gets around the rule', async (t) => {
  const world = await startWorld(t, {
    talk: true,
    config: { session: { agentToAgent: { maxPingPongTurns: 0 } } },
  });
  await world.say(B, 'SAY: hi');
  const sentBefore = (await deliveriesOf(world, B)).length;
  const held = world.model.hold(`Your session is ${B}.`);
  // A person's run, a failing one, and an exchange that is to be announced: all accepted before.
  const person = world.client.request('chat.send', {
    sessionKey: B,
    message: 'SAY: x',
    idempotencyKey: '1',
  });
  const failing = world.client.request('chat.send', {
    sessionKey: B,
    message: 'FAIL: 400',
    idempotencyKey: '2',
  });
  await Promise.all([person, failing, held.arrived()]);
  const asked = world.say(
    A,
    `${call('sessions_send', { sessionKey: B, message: 'SAY: y' })}\nSAY: ok`,
  );
  while ((await world.store.read((tx) => tx.inputs.pending(B, 10))).length < 2) {
    await new Promise((again) => setImmediate(again));
  }
  await world.client.request('sessions.patch', { key: B, sendPolicy: 'deny' });
  held.release();
  await asked;
  await world.quiet();
  const later = (await deliveriesOf(world, B)).filter(({ reason }) => reason === 'send_policy');
  assert.equal((await deliveriesOf(world, B)).length, sentBefore + later.length);
  assert.deepEqual(
    new Map(later.map(({ state, text }) => [text, state])),
    new Map([
      ['x', 'suppressed'],
      ['ANNOUNCE 1', 'suppressed'],
    ]),
  );
});
