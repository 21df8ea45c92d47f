/** Stops that reach over several gateways on one database. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startPostgres } from '../src/store/postgres/postgres-server.suite.ts';
import { callTools } from './crash/scenarios.ts';
import { makePostgresWorld } from './helpers/postgres-world.ts';

const server = await startPostgres();
after(() => server.stop());

const MAIN = 'agent:main:main';
/** of children, each gateway plays one at a time */
const ONE_CHILD_EACH = { agents: { defaults: { subagents: { maxConcurrent: 1 } } } };
const OWNED = 'select count(distinct owner)::int from lanes where current_run_id is not null';

describe('a stop of a run with children on two gateways', { concurrency: 2 }, () => {
  for (const through of ['its own gateway', 'the other one'] as const) {
    it(`[PG13, SO2, SO9] through ${through} ends it and its children, wherever they run`, async (t) => {
      const world = await makePostgresWorld(t, server, ONE_CHILD_EACH);
      const children = world.model.hold('You are a sub-agent');
      const parent = world.model.hold('childSessionKey');
      const a = await world.start();
      const spawns = callTools(
        ['sessions_spawn', { task: 'SAY: one' }],
        ['sessions_spawn', { task: 'SAY: two' }],
      );
      const runId = await a.send(MAIN, `${spawns}\nSAY: done`);
      await Promise.all([parent.arrived(), children.arrived()]);
      const b = await world.start();
      await children.arrived(2);
      await world.becomes(OWNED, 2);

      const [stopper, other] = through === 'the other one' ? [b, a] : [a, b];
      const stopped = await stopper.client.request<{ runIds: string[] }>('runs.stop', { runId });
      assert.equal(stopped.runIds.length, 3);
      for (const each of stopped.runIds) {
        assert.equal((await other.wait(each))['outcome'], 'aborted');
      }
      children.release();
      parent.release();
      await world.settled();
      assert.deepEqual(
        await world.query('select state, stopped_by, count(*)::int from runs group by 1, 2'),
        [{ state: 'aborted', stopped_by: 'operator', count: 3 }],
      );
      const next = await other.send(MAIN, 'SAY: on');
      assert.equal((await stopper.wait(next))['reply'], 'on');
    });
  }
});
