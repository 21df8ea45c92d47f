import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { connectGateway } from '../src/client/gateway-client.ts';
import type { GatewayError } from '../src/protocol/errors.ts';
import { textOf } from '../src/protocol/message.ts';
import type { Store } from '../src/store/store.ts';
import { call, outlineOf, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const B = 'agent:b:main';
const C = 'agent:c:main';
const BOTH = { tools: { allow: ['*', 'sessions_wait', 'sessions_stop'] } };
const inSession = (key: string): string => `Your session is ${key}.`;

async function send(world: TestWorld, sessionKey: string, message: string): Promise<string> {
  const params = { sessionKey, message, idempotencyKey: randomUUID() };
  return String((await world.client.request('chat.send', params))['runId']);
}
const stop = (world: TestWorld, target: Json): Promise<Json> =>
  world.client.request('runs.stop', target);
const wait = (world: TestWorld, runId: string): Promise<Json> =>
  world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
const get = (world: TestWorld, runId: string): Promise<Json> =>
  world.client.request('runs.get', { runId });

/** a spawns; resolves when the child is at its model and a has ended. */
async function spawnAndHold(
  world: TestWorld,
  task: string,
  { held, count } = { held: world.model.hold('You are a sub-agent'), count: 1 },
) {
  await world.say(A, `${call('sessions_spawn', { task })}\nSAY: spawned`);
  await held.arrived(count);
  const answer = (await world.toolAnswers(A)).at(-1);
  return { childKey: String(answer?.['childSessionKey']), runId: String(answer?.['runId']), held };
}

test('[SO1, BR-102] a stopped run ends `aborted` with who stopped it, and whoever waits is told at once', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(inSession(B));
  const runId = await send(world, B, 'SAY: never');
  await held.arrived();
  const waiting = [wait(world, runId), wait(world, runId)];
  const stopped = await stop(world, { sessionKey: B });
  assert.deepEqual(stopped, { status: 'ok', stopped: [B], runIds: [runId] });
  for (const answer of await Promise.all(waiting)) {
    const { status, outcome, messageState, error } = answer;
    assert.deepEqual(
      { status, outcome, messageState, error },
      {
        status: 'error',
        outcome: 'aborted',
        messageState: 'done',
        error: 'stopped by the operator',
      },
    );
  }
  assert.equal((await get(world, runId))['stoppedBy'], 'operator');
  const { sessions } = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
  assert.equal(sessions.find(({ key }) => key === B)?.['abortedLastRun'], true);
});

test('[SO1] what was said before the stop stays in the transcript, marked as aborted', async (t) => {
  const world = await startWorld(t);
  world.model.failNext({ kind: 'stall', text: 'half a sent' });
  const shown = Promise.withResolvers<void>();
  world.client.on(({ event, payload }) => {
    if (event === 'chat' && (payload as Json)['state'] === 'delta') shown.resolve();
  });
  const runId = await send(world, B, 'SAY: a whole sentence');
  await shown.promise;
  await stop(world, { runId });
  await wait(world, runId);
  const last = (await world.history(B)).at(-1);
  assert.ok(last?.role === 'assistant');
  assert.deepEqual([textOf(last), last.stopReason], ['half a sent', 'aborted']);
  assert.equal((await world.store.read((tx) => tx.deliveries.ofSession(B, 9))).length, 0);
});

test('[SO3, BR-187] a stop of a session leaves the messages that wait there: they run in order', async (t) => {
  const world = await startWorld(t, { config: { messages: { queue: { mode: 'followup' } } } });
  const held = world.model.hold('SAY: one');
  const first = await send(world, B, 'SAY: one');
  await held.arrived();
  const second = await send(world, B, 'SAY: two');
  const third = await send(world, B, 'SAY: three');
  assert.deepEqual((await stop(world, { sessionKey: B }))['runIds'], [first]);
  held.release();
  assert.equal((await wait(world, first))['outcome'], 'aborted');
  assert.equal((await wait(world, second))['reply'], 'two');
  assert.equal((await wait(world, third))['reply'], 'three');
  assert.deepEqual(
    usersOf(await world.history(B)).map((message) => textOf(message)),
    ['SAY: one', 'SAY: two', 'SAY: three'],
  );
});

test('[SO4] `chat.abort` without a runId ends what waits in the lane too, and none of it begins', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('SAY: one');
  const first = await send(world, B, 'SAY: one');
  await held.arrived();
  const second = await send(world, B, 'SAY: two');
  const ended: Json[] = [];
  world.client.on(({ event, payload }) => {
    if (event === 'chat') ended.push(payload as Json);
  });
  const answer = await world.client.request('chat.abort', { sessionKey: B });
  assert.deepEqual(answer, { ok: true, aborted: true, runIds: [first, second] });
  assert.equal((await wait(world, second))['outcome'], 'aborted');
  assert.equal((await wait(world, first))['outcome'], 'aborted');
  held.release();
  const history = await world.client.request<{ pending: Json[] }>('chat.history', {
    sessionKey: B,
  });
  assert.deepEqual(history.pending, []);
  assert.deepEqual(
    usersOf(await world.history(B)).map((message) => textOf(message)),
    ['SAY: one'],
  );
  assert.deepEqual(
    ended.filter(({ state }) => state === 'aborted').map(({ runId }) => runId),
    [second, first],
  );
  assert.equal((await world.say(B, 'SAY: three'))['reply'], 'three');
  const again = await world.client.request('chat.abort', { sessionKey: B });
  assert.deepEqual(again, { ok: true, aborted: false, runIds: [] });
});

test('[SO4] one waiting message is stopped by its runId, and its neighbours are not', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('SAY: one');
  const runIds: string[] = [];
  for (const text of ['one', 'two', 'three']) runIds.push(await send(world, B, `SAY: ${text}`));
  await held.arrived();
  assert.deepEqual((await stop(world, { runId: runIds[1] }))['runIds'], [runIds[1]]);
  held.release();
  const outcomes = await Promise.all(runIds.map(async (id) => (await wait(world, id))['outcome']));
  assert.deepEqual(outcomes, ['ok', 'aborted', 'ok']);
  await world.quiet();
});

test('[SO2, BR-079] a stop reaches children, their queued turns, and the runs that they started', async (t) => {
  const world = await startWorld(t, {
    config: { tools: { subagents: { tools: { allow: ['*', 'sessions_send'] } } } },
  });
  const inB = world.model.hold(inSession(B));
  const task = `${call('sessions_send', { sessionKey: B, message: 'SAY: for the child' })}\nSAY: x`;
  const parent = await send(
    world,
    A,
    `${call('sessions_spawn', { task })}\n${call('sessions_send', { sessionKey: C, message: 'SLEEP: 60000\nSAY: c' })}`,
  );
  await inB.arrived();
  const children = await world.store.read((tx) => tx.runs.causedBy(parent));
  const childKey = children.find(({ purpose }) => purpose === 'task')?.sessionKey ?? '';
  const late = await send(world, childKey, 'SAY: more work');
  const other = await send(world, B, 'SAY: of a person');
  const { stopped } = await stop(world, { sessionKey: A });
  assert.deepEqual(new Set(stopped as string[]), new Set([A, childKey, B, C]));
  inB.release();
  assert.equal((await wait(world, late))['outcome'], 'aborted');
  assert.equal((await wait(world, other))['outcome'], 'ok');
  await world.quiet();
  const { runs } = await world.client.request<{ runs: Json[] }>('runs.list', { state: 'aborted' });
  assert.equal(runs.length, 5);
  assert.ok(runs.every(({ stoppedBy }) => stoppedBy === 'operator'));
  assert.equal((await world.say(A, 'SAY: again'))['reply'], 'again');
});

test('[SO2] the exchanges of what is stopped end, and their turns with them', async (t) => {
  const world = await startWorld(t, { talk: true });
  const held = world.model.hold('Agent-to-agent reply step');
  await world.say(A, `${call('sessions_send', { sessionKey: B, message: 'SAY: hi' })}\nSAY: ok`);
  await held.arrived();
  const [answer] = await world.toolAnswers(A);
  const { stopped } = await stop(world, { sessionKey: B });
  assert.deepEqual(stopped, [A], 'the turn in a was all that went on');
  held.release();
  await world.quiet();
  const exchange = await world.store.read((tx) => tx.exchanges.get(String(answer?.['runId'])));
  assert.deepEqual(
    [exchange?.state, exchange?.endReason, exchange?.endDetail],
    ['done', 'error', 'stopped by the operator'],
  );
});

test('[SO6] a stopped child is announced as an error with who stopped it, to the transcript alone', async (t) => {
  const world = await startWorld(t);
  const { childKey } = await spawnAndHold(world, 'SAY: never');
  assert.deepEqual((await stop(world, { sessionKey: childKey }))['stopped'], [childKey]);
  await world.quiet();
  const deliveries = await world.store.read((tx) => tx.deliveries.ofSession(A, 99));
  const announce = deliveries.find(({ deliveryId }) => deliveryId.startsWith('announce:'));
  assert.deepEqual([announce?.state, announce?.reason], ['suppressed', 'stopped']);
  await world.say(A, 'SAY: next');
  const note = usersOf(await world.history(A)).find(({ provenance }) => provenance !== undefined);
  const text = note === undefined ? '' : textOf(note);
  assert.match(text, /^Status: error\nResult: \(not available\)\nNotes: stopped by the operator/);
});

test('[SO6, BR-135] a child that is stopped before it began is announced too, and counts no more', async (t) => {
  const world = await startWorld(t, {
    config: { agents: { defaults: { subagents: { maxConcurrent: 1, maxChildrenPerAgent: 2 } } } },
  });
  const { childKey, runId, held } = await spawnAndHold(world, 'SAY: first');
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: second' })}\nSAY: spawned`);
  const second = (await world.toolAnswers(A)).at(-1);
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: third' })}\nSAY: refused`);
  assert.equal((await world.toolAnswers(A)).at(-1)?.['status'], 'forbidden');
  await stop(world, { sessionKey: String(second?.['childSessionKey']) });
  await stop(world, { sessionKey: childKey });
  assert.equal((await wait(world, runId))['outcome'], 'aborted');
  assert.equal((await get(world, String(second?.['runId'])))['startedAt'], undefined);
  held.release();
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: fourth' })}\nSAY: spawned`);
  assert.equal((await world.toolAnswers(A)).at(-1)?.['status'], 'accepted');
  await world.quiet();
  const announced = (await world.store.read((tx) => tx.deliveries.ofSession(A, 99))).filter(
    ({ deliveryId }) => deliveryId.startsWith('announce:'),
  );
  assert.deepEqual(announced.map(({ state }) => state).toSorted(), [
    'sent',
    'suppressed',
    'suppressed',
  ]);
});

test('[SO5, BR-007] a run that nobody plays any more is ended, and the lane goes on', async (t) => {
  const lost = Promise.withResolvers<void>();
  let isFirst = true;
  const wrapStore = (store: Store): Store => ({
    ...bound(store),
    write: (unit, fn) => {
      if (unit !== 'close-run' || !isFirst) return store.write(unit, fn);
      isFirst = false;
      lost.resolve();
      return Promise.reject(new Error('lost'));
    },
  });
  const world = await startWorld(t, { wrapStore });
  const dead = await send(world, B, 'SAY: lost');
  await lost.promise;
  assert.equal((await get(world, dead))['messageState'], 'running');
  const next = await send(world, B, 'SAY: hi');
  assert.deepEqual((await stop(world, { sessionKey: B }))['stopped'], [B]);
  assert.equal((await wait(world, dead))['outcome'], 'aborted');
  assert.equal((await wait(world, next))['reply'], 'hi');
});

test('[SO5, BR-007] a lane that holds a run which has ended, or counts one that is not there, takes new work', async (t) => {
  const world = await startWorld(t);
  const { runId } = await world.say(B, 'SAY: done');
  await world.store.write('torn', async (tx) => {
    await tx.lanes.addRun(B, 'main', tx.now);
    const lane = await tx.lanes.claimNext({ runClass: 'main', owner: 'dead' });
    assert.equal(lane?.sessionKey, B);
    const fence = { sessionKey: B, owner: 'dead', epoch: lane.epoch };
    await tx.lanes.setCurrent(fence, String(runId), 'running');
    await tx.lanes.freeOrphans('nobody');
    tx.signal({ type: 'lane', sessionKey: B });
  });
  assert.equal((await world.say(B, 'SAY: hi'))['reply'], 'hi');
  assert.equal((await get(world, String(runId)))['outcome'], 'ok', 'its first outcome stands');
});

test('[SO9] a stop that was answered holds, also when the run comes to its end by itself', async (t) => {
  const world: TestWorld = await startWorld(t, {
    wrapStore: (store) => ({
      ...bound(store),
      write: async (unit, fn) => {
        if (unit === 'close-run') await stop(world, { sessionKey: B });
        return store.write(unit, fn);
      },
    }),
  });
  const { status, outcome } = await world.say(B, 'SAY: finished');
  assert.deepEqual([status, outcome], ['error', 'aborted']);
  assert.equal(outlineOf(await world.history(B)).at(-1), 'assistant: finished');
  assert.equal((await world.store.read((tx) => tx.deliveries.ofSession(B, 9))).length, 0);
});

test('[SO9] a run that is stopped in the middle of a call starts nothing more', async (t) => {
  const world: TestWorld = await startWorld(t, {
    wrapStore: (store) => ({
      ...bound(store),
      write: async (unit, fn) => {
        if (unit === 'accept-spawn') await stop(world, { sessionKey: A });
        return store.write(unit, fn);
      },
    }),
  });
  const { outcome } = await world.say(A, `${call('sessions_spawn', { task: 'SAY: x' })}\nSAY: y`);
  assert.equal(outcome, 'aborted');
  assert.equal(await world.store.read((tx) => tx.sessions.countActiveChildren(A)), 0);
  const { runs } = await world.client.request<{ runs: Json[] }>('runs.list', {});
  assert.equal(runs.length, 1);
});

test('[SO9] a stop that is asked for again under its key stops nothing more', async (t) => {
  const world = await startWorld(t, { config: BOTH });
  const held = world.model.hold(inSession(B));
  const first = await send(world, B, 'SAY: one');
  await held.arrived();
  const params = {
    tool: 'sessions_stop',
    args: { sessionKey: B },
    sessionKey: A,
    idempotencyKey: 'stop-1',
  };
  const once = await world.client.request('tools.invoke', params);
  assert.deepEqual(once['result'], { status: 'ok', stopped: [B] });
  assert.equal((await wait(world, first))['outcome'], 'aborted');
  const second = await send(world, B, 'SAY: two');
  await held.arrived(2);
  assert.deepEqual(await world.client.request('tools.invoke', params), once);
  held.release();
  assert.equal((await wait(world, second))['outcome'], 'ok');
});

test('[SO11] a stopped run that waits for another ends at once, without a slot', async (t) => {
  const world = await startWorld(t, { config: { agents: { defaults: { maxConcurrent: 1 } } } });
  const held = world.model.hold(inSession(B));
  const waiting = await send(
    world,
    A,
    call('sessions_send', { sessionKey: B, message: 'SAY: x', timeoutSeconds: 60 }),
  );
  await held.arrived();
  const holder = world.model.hold(inSession(C));
  const other = await send(world, C, 'SAY: holds the slot');
  await holder.arrived();
  assert.equal((await get(world, waiting))['messageState'], 'waiting');
  await stop(world, { sessionKey: A });
  assert.equal((await wait(world, waiting))['outcome'], 'aborted');
  assert.equal((await get(world, other))['messageState'], 'running');
  holder.release();
  held.release();
  await world.quiet();
});

test('[SO7, BR-174] a session stops what it may see, not its siblings, its parent or itself', async (t) => {
  const world = await startWorld(t, {
    config: {
      tools: {
        allow: ['*', 'sessions_stop'],
        sessions: { visibility: 'tree' },
        subagents: { tools: { allow: ['sessions_stop'] } },
      },
    },
  });
  const { childKey, runId, held } = await spawnAndHold(world, 'SAY: one');
  const sibling = await spawnAndHold(world, 'SAY: two', { held, count: 2 });
  const asChild = (args: Json): Promise<Json> =>
    world.tool('sessions_stop', args, sibling.childKey);
  const refused = await asChild({ sessionKey: childKey });
  assert.equal(refused['status'], 'forbidden');
  for (const args of [
    { sessionKey: A },
    { runId },
    { runId: randomUUID() },
    { sessionKey: 'agent:a:nope' },
  ])
    assert.deepEqual(await asChild(args), refused, JSON.stringify(args));
  assert.match(String((await asChild({ sessionKey: 'current' }))['error']), /your own session/);
  assert.equal((await get(world, runId))['messageState'], 'running');
  const byParent = await world.tool('sessions_stop', { sessionKey: childKey }, A);
  assert.deepEqual(byParent, { status: 'ok', stopped: [childKey] });
  assert.equal((await wait(world, runId))['error'], `stopped by session ${A}`);
  held.release();
});

test('[SO8] a stop reaches further than its caller sees, and tells only of what it sees', async (t) => {
  const world = await startWorld(t, {
    config: {
      tools: {
        allow: ['*', 'sessions_stop'],
        sessions: { visibility: 'tree' },
        subagents: { tools: { allow: ['*', 'sessions_stop'] } },
      },
    },
  });
  const { childKey, runId, held } = await spawnAndHold(world, 'SAY: child');
  // What the child started in b is below it; a sees its child, but not b.
  const hidden = await world.store.write('seed', async (tx) => {
    const run = await tx.runs.get(runId);
    assert.ok(run !== undefined);
    const id = randomUUID();
    const seq = await tx.lanes.nextSeq(B);
    const input = await tx.inputs.get(runId);
    assert.ok(input !== undefined);
    await tx.inputs.insert({
      ...input,
      inputId: id,
      sessionKey: B,
      seq,
      kind: 'inter_session',
      runId: id,
      state: 'pending',
      idempotencyScope: null,
      idempotencyKey: null,
    });
    await tx.runs.insert({
      ...run,
      runId: id,
      sessionKey: B,
      seq,
      state: 'queued',
      purpose: 'message',
      spawnKey: null,
      parentRunId: runId,
      sessionId: null,
      startedAt: null,
    });
    await tx.lanes.addRun(B, 'cron', tx.now);
    return id;
  });
  const answer = await world.tool('sessions_stop', { sessionKey: childKey }, A);
  assert.deepEqual(answer, { status: 'ok', stopped: [childKey] });
  assert.equal((await get(world, hidden))['outcome'], 'aborted');
  held.release();
});

test('[SO7, BR-176] a credential without `operator.write` stops nothing', async (t) => {
  const world = await startWorld(t);
  const { url, token = '' } = world.gateway;
  const reader = await connectGateway({ url, token, clientName: 'r', scopes: ['operator.read'] });
  t.after(() => reader.close());
  const held = world.model.hold(inSession(B));
  const runId = await send(world, B, 'SAY: fine');
  await held.arrived();
  for (const [method, params] of [
    ['runs.stop', { runId }],
    ['chat.abort', { sessionKey: B }],
  ] as const)
    await assert.rejects(reader.request(method, params), { code: 'forbidden' });
  held.release();
  assert.equal((await wait(world, runId))['outcome'], 'ok');
});

test('[SO7] what does not exist, or does not go together, is an error that says so', async (t) => {
  const world = await startWorld(t);
  const { runId } = await world.say(B, 'SAY: done');
  const cases: [method: string, params: Json, code: string][] = [
    ['runs.stop', { runId: randomUUID() }, 'not_found'],
    ['runs.stop', { sessionKey: 'agent:a:nope' }, 'not_found'],
    ['runs.stop', {}, 'invalid_request'],
    ['runs.stop', { runId, sessionKey: B }, 'invalid_request'],
    ['chat.abort', { runId, sessionKey: A }, 'invalid_request'],
  ];
  for (const [method, params, code] of cases)
    await assert.rejects(world.client.request(method, params), (error: GatewayError) => {
      assert.equal(error.code, code, `${method} ${JSON.stringify(params)}: ${error.message}`);
      return true;
    });
  assert.deepEqual(await stop(world, { runId }), { status: 'ok', stopped: [], runIds: [] });
  assert.equal((await get(world, String(runId)))['outcome'], 'ok');
});

test('[SO1] an agent stops what it spawned, by one call', async (t) => {
  const world = await startWorld(t, { config: BOTH });
  const { childKey, runId, held } = await spawnAndHold(world, 'SAY: never');
  await world.say(A, `${call('sessions_stop', { sessionKey: childKey })}\nSAY: stopped it`);
  assert.deepEqual((await world.toolAnswers(A)).at(-1), { status: 'ok', stopped: [childKey] });
  assert.equal((await wait(world, runId))['error'], `stopped by session ${A}`);
  held.release();
});

function bound(store: Store): Store {
  return {
    read: (fn) => store.read(fn),
    write: (unit, fn) => store.write(unit, fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
  };
}
