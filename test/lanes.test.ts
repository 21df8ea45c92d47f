/** One lane per session, and what many of them do at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import type { Store } from '../src/store/store.ts';
import { call, outlineOf, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

const A = 'agent:a:main';
const B = 'agent:b:main';
const C = 'agent:c:main';
/** in every request of that session, and of no other */
const ofSession = (key: string): string => `Your session is ${key}.`;
const OF_CHILDREN = 'You are a sub-agent';

const send = (world: TestWorld, message: string, extra: Record<string, unknown> = {}) =>
  world.tool('sessions_send', { sessionKey: B, message, timeoutSeconds: 20, ...extra });

/** `chat.send`; resolves when the message is accepted. */
async function accept(world: TestWorld, sessionKey: string, message: string): Promise<string> {
  const params = { sessionKey, message, idempotencyKey: message };
  return String((await world.client.request('chat.send', params))['runId']);
}

async function ended(world: TestWorld, runId: unknown): Promise<Record<string, unknown>> {
  return world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
}

test('[BR-022] sends to two sessions run side by side', async (t) => {
  const world = await startWorld(t);
  // Either model call is answered only once both have been asked.
  const held = world.model.hold('via sessions_send');
  const both = Promise.all([
    send(world, 'SAY: b'),
    world.tool('sessions_send', { sessionKey: C, message: 'SAY: c', timeoutSeconds: 20 }),
  ]);
  await held.arrived(2);
  held.release();
  assert.deepEqual(
    (await both).map(({ status, reply }) => [status, reply]),
    [
      ['ok', 'b'],
      ['ok', 'c'],
    ],
  );
});

test('[BR-023] a run that waits for another holds no slot that others need', async (t) => {
  const world = await startWorld(t, { config: { agents: { defaults: { maxConcurrent: 1 } } } });
  const held = world.model.hold(ofSession(B));
  const waiting = world.say(
    A,
    `${call('sessions_send', { sessionKey: B, message: 'SAY: b', maxTurns: 0 })}\nSAY: a`,
  );
  await held.arrived();
  assert.equal((await world.say(C, 'SAY: c'))['reply'], 'c', 'the one slot is free for a person');
  held.release();
  assert.equal((await waiting)['reply'], 'a');
  const [answer] = await world.toolAnswers(A);
  assert.deepEqual([answer?.['status'], answer?.['reply']], ['ok', 'b']);
});

test('[BR-025, BR-149] a send to a busy session is queued, and runs when the other has ended', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(ofSession(B));
  const first = await accept(world, B, 'SAY: 1');
  await held.arrived();
  const second = await send(world, 'SAY: 2', { timeoutSeconds: 0 });
  assert.deepEqual([second['status'], second['messageState']], ['accepted', 'queued']);
  const third = send(world, 'SAY: 3');
  held.release();
  assert.equal((await third)['reply'], '3');
  const [one, two] = [await ended(world, first), await ended(world, second['runId'])];
  assert.ok(Number(two['startedAt']) >= Number(one['endedAt']));
  assert.deepEqual(outlineOf(await world.history(B)), [
    'user: SAY: 1',
    'assistant: 1',
    'user: SAY: 2',
    'assistant: 2',
    'user: SAY: 3',
    'assistant: 3',
  ]);
  assert.equal(world.model.requests.length, 3);
});

test('[BR-157] messages of every door keep one order and never overlap', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(ofSession(B));
  const running = await accept(world, B, 'SAY: 0');
  await held.arrived();
  const accepted = await send(world, 'SAY: 1', { timeoutSeconds: 0 });
  const waited = send(world, 'SAY: 2');
  // The order of acceptance is what counts, so each is accepted before the next is sent.
  await pendingIn(world, B, 2);
  const agent = world.client.runAgent({ sessionKey: B, message: 'SAY: 3', idempotencyKey: '3' });
  await pendingIn(world, B, 3);
  held.release();
  const ids = [running, accepted['runId'], (await waited)['runId'], (await agent).runId];
  const runs = [];
  for (const runId of ids) runs.push(await ended(world, runId));
  assert.deepEqual(
    runs.map(({ reply }) => reply),
    ['0', '1', '2', '3'],
  );
  for (const [at, run] of runs.entries()) {
    if (at > 0) assert.ok(Number(run['startedAt']) >= Number(runs[at - 1]?.['endedAt']));
  }
});

/** Resolves when that many messages of the session are accepted and not in its transcript. */
async function pendingIn(world: TestWorld, sessionKey: string, count: number): Promise<void> {
  for (;;) {
    const pending = await world.store.read((tx) => tx.inputs.pending(sessionKey, 100));
    if (pending.length >= count) return;
    await new Promise((again) => setImmediate(again));
  }
}

test('[BR-145] messages that arrive as their target goes idle are never lost and never run twice', async (t) => {
  const world = await startWorld(t, {
    config: { session: { agentToAgent: { maxPingPongTurns: 0 } } },
  });
  const count = 100;
  let sent = 0;
  const { promise: allSent, resolve } = Promise.withResolvers<void>();
  const next = (): void => {
    if (sent === count) return resolve();
    sent += 1;
    const message = `SAY: ${sent}`;
    // A little sooner or later each time, so that all moments of the way to idle are met.
    let turns = sent % 10;
    const later = (): void => {
      if (turns-- > 0) setImmediate(later);
      else void send(world, message, { timeoutSeconds: 0 });
    };
    later();
  };
  world.client.on(({ event, payload }) => {
    const { stream, data, sessionKey } = (payload ?? {}) as {
      stream?: string;
      data?: { phase?: string };
      sessionKey?: string;
    };
    if (event === 'agent' && stream === 'lifecycle' && data?.phase === 'end' && sessionKey === B)
      next();
  });
  next();
  await allSent;
  await world.quiet();
  const messages = await world.history(B);
  assert.deepEqual(
    outlineOf(messages),
    Array.from({ length: count }, (_, at) => [
      `user: SAY: ${at + 1}`,
      `assistant: ${at + 1}`,
    ]).flat(),
  );
  assert.deepEqual(await world.store.read((tx) => tx.runs.countByState()), { ok: count });
});

const breaks: [string, Parameters<TestWorld['model']['failNext']>, number, string][] = [
  ['runs into its time limit', [{ kind: 'hang' }], 1, 'timeout'],
  ['fails', [{ kind: 'status', status: 400 }], 0, 'error'],
  ['loses its model', [{ kind: 'drop' }, 3], 0, 'error'],
];
for (const [what, failure, timeout, outcome] of breaks) {
  test(`[BR-187] messages that wait behind a run that ${what} are run in order`, async (t) => {
    const world = await startWorld(t);
    world.model.failNext(...failure);
    const held = world.model.hold('r1');
    const first = world.client.runAgent({
      sessionKey: B,
      message: 'r1',
      timeout,
      idempotencyKey: '1',
    });
    await held.arrived();
    const later = [await accept(world, B, 'SAY: m2'), await accept(world, B, 'SAY: m3')];
    held.release();
    assert.equal((await first).outcome, outcome);
    for (const runId of later) assert.equal((await ended(world, runId))['status'], 'ok');
    const users = usersOf(await world.history(B)).map((message) => textOf(message));
    assert.deepEqual(users, ['r1', 'SAY: m2', 'SAY: m3']);
  });
}

test('[BR-047] a parent answers while its child works', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(OF_CHILDREN);
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: done' })}\nSAY: started`);
  await held.arrived();
  assert.equal((await world.say(A, 'SAY: hello'))['reply'], 'hello');
  held.release();
  await world.quiet();
});

test('[BR-136] children run side by side up to the limit, and the next as one ends', async (t) => {
  const subagents = { maxConcurrent: 4, maxChildrenPerAgent: 8, announce: { mode: 'template' } };
  const world = await startWorld(t, { config: { agents: { defaults: { subagents } } } });
  const first = world.model.hold(OF_CHILDREN);
  const children = [];
  for (let n = 0; n < 8; n += 1)
    children.push(await world.tool('sessions_spawn', { task: `SAY: ${n}` }));
  await first.arrived(4);
  assert.deepEqual(await world.store.read((tx) => tx.runs.countByState()), {
    running: 4,
    queued: 4,
  });
  first.release();
  for (const { runId } of children) assert.equal((await ended(world, runId))['status'], 'ok');
  assert.equal(world.model.requests.length, 8);
});

test('[BR-135] children that have ended, however they ended, do not count against the limit', async (t) => {
  const subagents = { maxChildrenPerAgent: 3 };
  const world = await startWorld(t, {
    config: { agents: { defaults: { subagents } } },
    // the announce of the first one fails
    rewrite: (text) => (text.startsWith('[Announce step') ? 'FAIL: 400 no' : undefined),
  });
  const tasks = [
    { task: 'SAY: ok' },
    { task: 'FAIL: 400 no' },
    { task: 'SLEEP: 60000', runTimeoutSeconds: 0.2 },
  ];
  const outcomes = [];
  for (const args of tasks) {
    const { runId } = await world.tool('sessions_spawn', args);
    outcomes.push((await ended(world, runId))['outcome']);
  }
  const stopped = world.model.hold('never said');
  const { runId } = await world.tool('sessions_spawn', { task: 'SAY: never said' });
  await stopped.arrived();
  await world.client.request('runs.stop', { runId });
  outcomes.push((await ended(world, runId))['outcome']);
  stopped.release();
  assert.deepEqual(outcomes, ['ok', 'error', 'timeout', 'aborted']);
  const held = world.model.hold(OF_CHILDREN);
  for (let n = 0; n < 3; n += 1) {
    assert.equal((await world.tool('sessions_spawn', { task: 'SAY: x' }))['status'], 'accepted');
  }
  assert.equal((await world.tool('sessions_spawn', { task: 'SAY: x' }))['status'], 'forbidden');
  held.release();
  await world.quiet();
});

test('[BR-208] each of many children gets its own task', async (t) => {
  const subagents = { maxChildrenPerAgent: 20, announce: { mode: 'template' } };
  const world = await startWorld(t, { config: { agents: { defaults: { subagents } } } });
  const tasks = Array.from({ length: 20 }, (_, at) => `SAY: T${at + 1}`);
  const answers = await Promise.all(tasks.map((task) => world.tool('sessions_spawn', { task })));
  await world.quiet();
  for (const [at, { childSessionKey, runId }] of answers.entries()) {
    const [task, reply] = await world.history(String(childSessionKey));
    assert.deepEqual([textOf(task!), textOf(reply!)], [tasks[at], `T${at + 1}`]);
    assert.equal((await ended(world, runId))['reply'], `T${at + 1}`);
  }
});

/** The store with one of its two ways in replaced. */
function storeWith(store: Store, change: Partial<Store>): Store {
  return {
    read: (fn) => store.read(fn),
    write: (unit, fn) => store.write(unit, fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
    ...change,
  };
}

test('[BR-150] a send that fails before its commit leaves nothing, and the same call is sent once', async (t) => {
  let failures = 1;
  const wrapStore = (store: Store): Store =>
    storeWith(store, {
      write: (unit, fn) =>
        store.write(unit, async (tx) => {
          const value = await fn(tx);
          if (unit === 'accept-send' && failures-- > 0) throw new Error('disk full');
          return value;
        }),
    });
  const world = await startWorld(t, { wrapStore });
  const failed = await send(world, 'SAY: x', { idempotencyKey: 'k' });
  assert.deepEqual(failed, { status: 'error', error: 'internal error; see the gateway log' });
  assert.deepEqual(await world.history(B), []);
  assert.equal((await send(world, 'SAY: x', { idempotencyKey: 'k' }))['reply'], 'x');
  assert.equal(usersOf(await world.history(B)).length, 1);
});

test('[BR-150] a send that is committed answers with its runId, whatever fails afterwards', async (t) => {
  let isBroken = false;
  const wrapStore = (store: Store): Store =>
    storeWith(store, {
      read: (fn) => (isBroken ? Promise.reject(new Error('no file handles')) : store.read(fn)),
      write: async (unit, fn) => {
        const value = await store.write(unit, fn);
        isBroken ||= unit === 'accept-send';
        return value;
      },
    });
  const world = await startWorld(t, { wrapStore });
  const held = world.model.hold('SAY: x');
  const answer = await send(world, 'SAY: x');
  isBroken = false;
  held.release();
  assert.deepEqual([answer['status'], typeof answer['runId']], ['accepted', 'string']);
  await ended(world, answer['runId']);
  assert.equal(usersOf(await world.history(B)).length, 1);
});
