import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createSessionWorld, type SessionWorld } from '../../../test/helpers/session-world.ts';
import { delivery } from '../../store/contract/samples.suite.ts';
import type { Store, WriteTx } from '../../store/store.ts';
import { acceptRun } from '../runs/accept-run.ts';
import { readUsage } from '../usage/read-usage.ts';
import { startArchiveClock } from './archive-clock.ts';
import { archiveSession } from './archive-session.ts';
import { maintainSessions } from './maintain-sessions.ts';

const MAIN = 'agent:main:main';
const DAY = 86_400_000;
const DAYS = 6;
const CHILDREN = 40;
const ENTRIES = 130;

/** One child that has done its work and was announced, with what that leaves. */
async function addChild({ context, add }: SessionWorld): Promise<string> {
  const key = `agent:main:subagent:${randomUUID()}`;
  await add({ key, spawnedBy: MAIN });
  await context.store.write('live', async (tx) => {
    const { sessionId = '' } = (await tx.sessions.get(key)) ?? {};
    for (let count = 0; count < ENTRIES; count += 1) {
      await tx.entries.append({
        sessionId,
        entryId: randomUUID(),
        type: 'message',
        role: 'toolResult',
        runId: null,
        json: '{}',
        createdAt: tx.now,
      });
    }
    const runId = randomUUID();
    const shared = { runId, sessionKey: key, rootRunId: runId, hops: 0, timeoutMs: 0 };
    const idempotency = { scope: `${MAIN} sessions_spawn`, key: runId, contentHash: 'h' };
    await acceptRun(tx, {
      ...shared,
      kind: 'task',
      text: 'work',
      purpose: 'task',
      runClass: 'subagent',
      parentRunId: 'a run that has ended',
      idempotency,
    });
    await tx.lanes.removeQueued(key);
    await tx.inputs.markAppended(runId, runId, tx.now);
    await tx.usage.book(
      {
        runId,
        attempt: 1,
        model: 'fake/fake-1',
        outcome: 'ok',
        usageKnown: true,
        inputTokens: 100,
        outputTokens: 10,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
        costNanos: 5,
        at: tx.now,
      },
      { sessionKey: key, agentId: 'main', rootKey: MAIN },
    );
    await tx.runs.update(runId, { state: 'ok', sessionId, endedAt: tx.now, reply: 'done' });
    const spawn = {
      childKey: key,
      runId,
      requesterKey: MAIN,
      requesterRunId: null,
      task: 'work',
      label: null,
      cleanup: 'keep',
      announceMode: 'post',
      archiveAfterMinutes: 60,
      routeJson: null,
      attachAsJson: null,
      state: 'settled',
      createdAt: tx.now,
      settledAt: tx.now,
    } as const;
    await tx.spawns.insert(spawn);
    await startArchiveClock(tx, spawn);
  });
  return key;
}

/** Does the jobs that are due, as the runner does. */
async function sweep({ context, time }: SessionWorld): Promise<void> {
  for (;;) {
    const jobs = await context.store.read((tx) => tx.jobs.due(time.now, 50));
    if (jobs.length === 0) return;
    for (const { kind, payloadJson } of jobs) {
      if (kind === 'maintain-sessions') await maintainSessions(context);
      else await archiveSession(context, String((JSON.parse(payloadJson) as { key: string }).key));
    }
  }
}

/** Passes units on and says how many entries each one took away. */
function counting(store: Store, taken: number[]): Store {
  const entries = (): Promise<number> =>
    store.read(async (tx) => {
      let total = 0;
      for (const { sessionId } of await tx.windows.condemned({ limit: 100 })) {
        total += (await tx.entries.page({ sessionId, afterSeq: 0, limit: 10_000 })).length;
      }
      return total;
    });
  return {
    read: (fn) => store.read(fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
    write: async (unit, fn) => {
      const before = unit === 'purge-step' ? await entries() : 0;
      const value = await store.write(unit, fn);
      if (unit === 'purge-step') taken.push(before - (await entries()));
      return value;
    },
  };
}

test('[AR15, US15, BR-091] days of sub-agents leave a bounded store, purged in small steps', async (t) => {
  const world = createSessionWorld(t, {
    session: { maintenance: { mode: 'enforce', pruneAfter: '2d' } },
  });
  const taken: number[] = [];
  const { store } = world.context;
  world.context.store = counting(store, taken);
  await world.add({ key: MAIN });
  await store.write('start', (tx) =>
    tx.jobs.add({
      jobKey: 'maintain-sessions',
      kind: 'maintain-sessions',
      payloadJson: '{}',
      runAt: tx.now,
    }),
  );
  const stored: number[] = [];
  for (let day = 0; day < DAYS; day += 1) {
    for (let count = 0; count < CHILDREN; count += 1) await addChild(world);
    for (let hours = 0; hours < 24; hours += 6) {
      world.time.now += DAY / 4;
      await sweep(world);
    }
    const archived = await store.read((tx) =>
      tx.sessions.archivedBefore({ at: world.time.now, limit: 10_000 }),
    );
    stored.push(archived.length);
    assert.equal(await store.read((tx) => tx.sessions.count()), 1, 'the main session is left');
  }
  assert.deepEqual(
    stored,
    [1, 2, 2, 2, 2, 2].map((days) => days * CHILDREN),
  );
  assert.ok(taken.length > 0);
  assert.ok(Math.max(...taken) <= 100, 'a step takes at most 100 entries');
  // nothing is kept of calls whose run has ended: their keys cannot come again
  const runs = await store.read((tx) => tx.runs.countByState());
  assert.deepEqual(runs, { ok: 2 * CHILDREN });
  // what they spent is: one row a session, day and model
  const sums = await readUsage(world.context, { sessionKey: MAIN, tree: true });
  assert.equal(sums.total?.calls, DAYS * CHILDREN);
});

test('[AR5] what has open work is neither archived nor purged', async (t) => {
  const world = createSessionWorld(t, {
    session: { maintenance: { mode: 'enforce', pruneAfter: '1d' } },
  });
  await world.add({ key: MAIN });
  const key = await addChild(world);
  const { store } = world.context;
  const open = (tx: Parameters<Parameters<Store['write']>[1]>[0]) =>
    tx.exchanges.insert({
      exchangeId: 'x',
      requesterKey: MAIN,
      targetKey: key,
      requesterRunId: 'r',
      rootRunId: 'r',
      hops: 1,
      state: 'due',
      maxTurns: 1,
      turns: 0,
      requestText: '',
      firstReply: null,
      latestReply: null,
      endReason: null,
      endDetail: null,
      noAnnounce: null,
      createdAt: tx.now,
      endedAt: null,
    });
  await store.write('open', open);
  world.time.now += DAY;
  const due = await store.read((tx) => tx.jobs.due(world.time.now, 9));
  assert.deepEqual(
    due.map(({ kind }) => kind),
    ['archive-session'],
  );
  await archiveSession(world.context, key);
  assert.equal((await store.read((tx) => tx.sessions.get(key)))?.archivedAt, null);
  const [later] = await store.read((tx) => tx.jobs.due(world.time.now + DAY, 9));
  assert.equal(later?.runAt, world.time.now + 60_000);
  // archived by hand, so to say: still not purged
  await store.write('archive', (tx) => tx.sessions.update(key, { archivedAt: tx.now }));
  world.time.now += 2 * DAY;
  await maintainSessions(world.context);
  assert.equal((await store.read((tx) => tx.sessions.get(key)))?.deletedAt, null);
  await store.write('end', (tx) => tx.exchanges.update('x', { state: 'done', endedAt: tx.now }));
  await maintainSessions(world.context);
  await sweep(world);
  assert.equal(await store.read((tx) => tx.sessions.get(key)), undefined);
});

test('[AR5, AR12] what is to be purged at once waits for the run that its session was stopped in', async (t) => {
  const world = createSessionWorld(t);
  const { context, time } = world;
  const { store } = context;
  const key = await addChild(world);
  const runId = randomUUID();
  const fence = await store.write('a run that another gateway plays', async (tx) => {
    const run = { runId, sessionKey: key, rootRunId: runId, hops: 0, timeoutMs: 0 };
    await acceptRun(tx, {
      ...run,
      kind: 'message',
      text: 'x',
      purpose: 'message',
      runClass: 'main',
    });
    const lane = await tx.lanes.claimNext({ runClass: 'main', owner: 'other' });
    const held = { sessionKey: key, owner: 'other', epoch: lane?.epoch ?? 0 };
    await tx.lanes.setCurrent(held, runId, 'running');
    await tx.runs.update(runId, { state: 'running' });
    return held;
  });
  const { sessionId = '' } = (await store.read((tx) => tx.sessions.get(key))) ?? {};
  await store.write('deleted with its transcript', async (tx) => {
    await tx.sessions.update(key, { deletedAt: tx.now, archivedAt: tx.now });
    await tx.windows.condemn(sessionId, tx.now);
  });
  const isThere = () =>
    store.read(async (tx) => [
      (await tx.windows.get(sessionId)) !== undefined,
      (await tx.sessions.get(key)) !== undefined,
      (await tx.lanes.get(key)) !== undefined,
    ]);
  await maintainSessions(context);
  assert.deepEqual(await isThere(), [true, true, true]);
  await store.write('its end', async (tx) => {
    await tx.runs.update(runId, { state: 'aborted', endedAt: tx.now, reply: '' });
    await tx.lanes.release(fence, tx.now);
  });
  time.now += 60_000;
  await sweep(world);
  assert.deepEqual(await isThere(), [false, false, false]);
});

test('[AR5, AR15] what is due and in use keeps nothing that is due behind it from its turn', async (t) => {
  const world = createSessionWorld(t, {
    session: { maintenance: { mode: 'enforce', pruneAfter: '1d' } },
  });
  const { store } = world.context;
  const keys = (name: string, count: number) =>
    Array.from({ length: count }, (_, at) => `agent:main:subagent:${name}-${100 + at}`);
  const archived = keys('archived', 25);
  const condemned = keys('condemned', 120);
  const free = ['agent:main:subagent:z-archived', 'agent:main:subagent:z-condemned'];
  await world.add(...[...archived, ...condemned, ...free].map((key) => ({ key })));
  await store.write('close', async (tx) => {
    for (const key of [...archived, ...condemned]) await putDelivery(tx, key);
    for (const key of [...archived, free[0] ?? '']) {
      await tx.sessions.update(key, { archivedAt: tx.now });
    }
  });
  for (const key of [...condemned, free[1] ?? '']) {
    world.time.now += 1;
    await store.write('condemn', async (tx) => {
      const { sessionId = '' } = (await tx.sessions.get(key)) ?? {};
      await tx.sessions.update(key, { archivedAt: tx.now, deletedAt: tx.now });
      await tx.windows.condemn(sessionId, tx.now);
    });
  }
  world.time.now += 2 * DAY;
  await maintainSessions(world.context);
  const left = await store.read((tx) => Promise.all(free.map((key) => tx.sessions.get(key))));
  assert.deepEqual(left, [undefined, undefined]);
  const busy = await store.read((tx) => tx.sessions.get(archived[0] ?? ''));
  assert.equal(busy?.deletedAt, null);
});

function putDelivery(tx: WriteTx, sessionKey: string) {
  return tx.deliveries.insert(delivery(sessionKey, { sessionKey, state: 'queued' }));
}
