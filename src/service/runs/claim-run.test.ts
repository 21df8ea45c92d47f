import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createSessionWorld } from '../../../test/helpers/session-world.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { RunContext } from '../context.ts';
import { acceptNote, acceptRun } from './accept-run.ts';
import { createActiveRuns } from './active-runs.ts';
import { type ClaimedRun, claimRun } from './claim-run.ts';
import { createRunWatch } from './run-watch.ts';
import { createSlots } from './slots.ts';
import { stopAsOperator } from './stop-session.ts';

const LOST = 'agent:main:discord:group:lost';
const WHOLE = 'agent:main:discord:group:whole';

interface World {
  /** Accepts a message; runs are named by the order of their acceptance. */
  accept(sessionKey: string, runId: string, mode?: 'collect'): Promise<void>;
  claim(): Promise<ClaimedRun | undefined>;
  run(runId: string): Promise<RunRow>;
  /** Takes rows away behind the store's back. */
  lose(sql: string): void;
  /** what the log was told of runs, and what those who watch were */
  told: { logged: unknown[]; ended: unknown[] };
  context: RunContext;
}

async function createWorld(t: TestContext): Promise<World> {
  const { context: base, add, databasePath } = createSessionWorld(t);
  await add({ key: LOST, sessionId: 'lost' }, { key: WHOLE });
  const told: World['told'] = { logged: [], ended: [] };
  const error = (fields: object): void => {
    if ('runId' in fields) told.logged.push(fields.runId);
  };
  base.events.subscribe((event) => {
    if (event.type === 'ended') told.ended.push([event.runId, event.state]);
  });
  const context: RunContext = {
    ...base,
    logger: { ...base.logger, error },
    bootId: 'boot',
    startedAt: base.clock.now(),
    channels: new Map(),
    toolsOf: () => Promise.resolve({ tools: new Map(), whyMissing: () => undefined }),
    runtimeFor: () => {
      throw new Error('no model here');
    },
  };
  return {
    context,
    told,
    accept: async (sessionKey, runId, mode) => {
      await base.store.write('accept', (tx) =>
        acceptRun(tx, {
          runId,
          sessionKey,
          kind: 'message',
          text: runId,
          purpose: 'message',
          runClass: 'main',
          rootRunId: runId,
          hops: 0,
          timeoutMs: 0,
          ...(mode === undefined ? {} : { queue: { mode, readyAt: tx.now } }),
        }),
      );
    },
    claim: () => claimRun(context, ['main']),
    run: async (runId) => (await base.store.read((tx) => tx.runs.get(runId)))!,
    lose: (sql) => {
      const db = new DatabaseSync(databasePath);
      assert.equal(db.prepare(sql).run().changes, 1, sql);
      db.close();
    },
  };
}

const LOSSES: [what: string, sql: string, said: RegExp][] = [
  ['session', `delete from sessions where key = '${LOST}'`, /^its session was lost/],
  ['transcript', "delete from windows where session_id = 'lost'", /^its transcript was lost/],
  ['message', "delete from inputs where input_id = 'first'", /^its message was lost/],
];
for (const [what, sql, said] of LOSSES) {
  test(`[RU12, BR-007] a queued run whose ${what} was lost ends with an error, said once, and others go on`, async (t) => {
    const { accept, claim, run, lose, told, context } = await createWorld(t);
    await accept(LOST, 'first');
    await accept(WHOLE, 'second');
    lose(sql);
    assert.equal((await claim())?.run.runId, 'second');
    assert.equal(await claim(), undefined);
    const { state, error, reply, endedAt } = await run('first');
    assert.deepEqual([state, reply, endedAt], ['error', '', context.clock.now()]);
    assert.match(error ?? '', said);
    assert.deepEqual(told, { logged: ['first'], ended: [['first', 'error']] });
    const lane = await context.store.read((tx) => tx.lanes.get(LOST));
    assert.deepEqual([lane?.pending, lane?.state, lane?.owner], [0, 'idle', null]);
    assert.deepEqual(await context.store.read((tx) => tx.inputs.pending(LOST, 9)), []);
  });
}

for (const [what, sql, said] of LOSSES.slice(0, 2)) {
  test(`[RU12, BR-007] an interrupted run whose ${what} was lost ends with an error, and others go on`, async (t) => {
    const { accept, claim, run, lose, context } = await createWorld(t);
    await accept(LOST, 'first');
    assert.equal((await claim())?.run.runId, 'first');
    await accept(WHOLE, 'second');
    lose(sql);
    // as a process does that comes after one that died
    await context.store.write('recover', (tx) => tx.lanes.freeOrphans('another'));
    assert.equal((await claim())?.run.runId, 'second');
    const { state, error } = await run('first');
    assert.equal(state, 'error');
    assert.match(error ?? '', said);
  });
}

test('[RU12] every run of a lost session ends, and each by itself', async (t) => {
  const { accept, claim, lose, told } = await createWorld(t);
  const names = Array.from({ length: 12 }, (_, at) => `run ${at}`);
  for (const name of names) await accept(LOST, name);
  await accept(WHOLE, 'other');
  lose(LOSSES[0]![1]);
  assert.equal((await claim())?.run.runId, 'other');
  assert.equal(await claim(), undefined);
  assert.deepEqual(told.logged, names);
});

test('[RU12] a collected message that was lost joins no turn; the others do', async (t) => {
  const { accept, claim, run, lose } = await createWorld(t);
  for (const name of ['one', 'two', 'three']) await accept(LOST, name, 'collect');
  lose("delete from inputs where input_id = 'two'");
  const claimed = await claim();
  assert.equal(claimed?.run.runId, 'one');
  assert.deepEqual(
    claimed.merged.map(({ runId }) => runId),
    ['three'],
  );
  assert.equal((await run('two')).state, 'queued');
});

test('[RU12] a lost run that somebody has stopped ends as stopped', async (t) => {
  const { accept, claim, run, lose, context } = await createWorld(t);
  await accept(LOST, 'first');
  await claim();
  await context.store.write('stop', (tx) => tx.runs.update('first', { stoppedBy: 'operator' }));
  await context.store.write('recover', (tx) => tx.lanes.freeOrphans('another'));
  lose(LOSSES[0]![1]);
  assert.equal(await claim(), undefined);
  assert.equal((await run('first')).state, 'aborted');
});

test('[RU12] stopping a run that this process holds without playing it ends it, also without its session', async (t) => {
  const { accept, claim, run, lose, context, told } = await createWorld(t);
  await accept(LOST, 'first');
  await claim();
  lose(LOSSES[0]![1]);
  const services = {
    ...context,
    activeRuns: createActiveRuns(),
    slots: createSlots(() => 1),
    watch: createRunWatch(context.store),
    wakeScheduler: () => {},
  };
  const operator = { type: 'operator', scopes: ['operator.admin'] } as const;
  await stopAsOperator(services, operator, { runId: 'first', method: 'runs.stop' });
  assert.equal((await run('first')).state, 'aborted');
  assert.deepEqual(told.ended, [['first', 'aborted']]);
  const lane = await context.store.read((tx) => tx.lanes.get(LOST));
  assert.deepEqual([lane?.owner, lane?.currentRunId], [null, null]);
});

test('[SS10] a note joins the next turn, however many messages wait in front of it', async (t) => {
  const { accept, claim, context } = await createWorld(t);
  for (let count = 0; count < 60; count += 1) await accept(WHOLE, `m${count}`);
  const note = {
    inputId: 'n',
    sessionKey: WHOLE,
    kind: 'note',
    text: 'note',
    rootRunId: 'n',
  } as const;
  await context.store.write('accept', (tx) => acceptNote(tx, note));
  assert.equal((await claim())?.run.runId, 'm0');
  const taken = await context.store.read((tx) => tx.inputs.get('n'));
  assert.deepEqual([taken?.state, taken?.runId], ['appended', 'm0']);
});
