import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionWorld } from '../../../test/helpers/session-world.ts';
import { watchReads } from '../../../test/helpers/watched-reads.ts';
import { run } from '../../store/contract/samples.suite.ts';
import { listRuns } from './list-runs.ts';

const MAIN = 'agent:main:main';

test('[SL14] runs of a session in a rare state, and a full page of all, are read 200 a query', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  await world.context.store.write('add-runs', async (tx) => {
    for (let at = 1; at <= 600; at += 1) {
      const state = at % 250 === 1 ? 'error' : 'ok';
      await tx.runs.insert(run(`r${at}`, MAIN, { seq: at, acceptedAt: at, state }));
    }
  });
  const { store, pages } = watchReads(world.context.store);
  const context = { ...world.context, store };
  const failed = await listRuns(context, { sessionKey: MAIN, state: 'error', limit: 2 });
  assert.deepEqual(
    failed.runs.map(({ runId }) => runId),
    ['r501', 'r251'],
  );
  const cursor = failed.nextCursor!;
  const rest = await listRuns(context, { sessionKey: MAIN, state: 'error', limit: 2, cursor });
  assert.deepEqual([rest.runs.map(({ runId }) => runId), rest.hasMore], [['r1'], false]);
  const all = await listRuns(context, { limit: 200 });
  assert.deepEqual([all.count, all.runs.at(-1)?.runId, all.hasMore], [200, 'r401', true]);
  assert.ok(Math.max(...pages) <= 200, pages.join());
});
