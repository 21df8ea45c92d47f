/** A gateway that is killed while it takes over from another one: all of it is done, or nothing. */
import assert from 'node:assert/strict';
import { after, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { startPostgres } from '../../src/store/postgres/postgres-server.suite.ts';
import { makePostgresWorld, type PostgresWorld } from '../helpers/postgres-world.ts';

const server = await startPostgres();
after(() => server.stop());

const MAIN = 'agent:main:main';
const CHAT = 'agent:main:direct:bob';
const LOCK = 77;
const HOLD_UP = `create function hold_up() returns trigger language plpgsql
  as 'begin perform pg_advisory_xact_lock(${LOCK}); return null; end'`;
/** Where the unit waits: in its first statement, or in its commit, which then goes through without the process. */
const PLACES = {
  before: 'create trigger hold_up after delete on gateways for each row execute function hold_up()',
  after: `create constraint trigger hold_up after delete on gateways
    deferrable initially deferred for each row execute function hold_up()`,
} as const;

/** So often a commit is tried that another unit of the same gateway may have got in the way of. */
const MOST_ATTEMPTS = 5;

const LEFT = `select (select count(*) from gateways)::int as gateways,
  (select count(*) from lanes where owner is not null)::int as lanes,
  (select count(*) from graphile_worker._private_jobs where locked_by is not null)::int as jobs`;
const WAITING = `select count(*)::int from pg_locks
  where locktype = 'advisory' and objid = ${LOCK} and not granted`;
const CONNECTED = `select count(*)::int from pg_stat_activity
  where application_name = 'trunkline' and datname = current_database()`;

describe('a gateway killed at a take-over', { concurrency: 2 }, () => {
  const cases = [
    ['before', { gateways: 2, lanes: 1, jobs: 1 }],
    ['after', { gateways: 1, lanes: 0, jobs: 0 }],
  ] as const;
  for (const [when, left] of cases) {
    it(`[PG12] just ${when} its commit: the next one goes on with everything`, async (t) => {
      const world = await makePostgresWorld(t, server);
      const held = world.model.hold('question');
      const runId = await leaveRunAndJob(world, held.arrived);
      await killInTakeOver(t, world, when);
      assert.deepEqual(await world.query(LEFT), [left]);

      const next = await world.start();
      held.release();
      assert.equal((await next.wait(runId))['reply'], 'answer');
      await world.settled();
      assert.deepEqual(await world.transcript(MAIN), [
        'user: question\nSAY: answer',
        'assistant: answer',
      ]);
      assert.deepEqual(
        await world.query("select state, attempts from deliveries where text = 'out'"),
        [{ state: 'sent', attempts: 2 }],
      );
      // its next sweep may still be to come
      await world.becomes('select count(*)::int from gateways', 1);
    });
  }
});

/** A gateway dies in a run and in a job; returns the run. */
async function leaveRunAndJob(world: PostgresWorld, arrived: () => Promise<void>): Promise<string> {
  const first = await world.start({ crash: 'delivery-sending:after:1' });
  const runId = await first.send(MAIN, 'question\nSAY: answer');
  await arrived();
  await first.send(CHAT, 'SAY: out');
  await first.process.exited;
  return runId;
}

/** Another gateway takes over and is killed at that place of the unit; resolves when nothing of it is left. */
async function killInTakeOver(
  t: TestContext,
  world: PostgresWorld,
  when: keyof typeof PLACES,
): Promise<void> {
  const blocker = new pg.Client(world.database);
  await blocker.connect();
  t.after(() => blocker.end());
  await blocker.query(HOLD_UP);
  await blocker.query(PLACES[when]);
  let isThere = false;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS && !isThere; attempt += 1) {
    await blocker.query('select pg_advisory_lock($1)', [LOCK]);
    const second = await world.start();
    await world.becomes(WAITING, 1);
    assert.equal((await second.process.kill()).signal, 'SIGKILL');
    await blocker.query('select pg_advisory_unlock($1)', [LOCK]);
    await world.becomes(CONNECTED, 0);
    // A serialization failure undoes the commit, and the process that would repeat the unit is dead.
    isThere = when === 'before' || (await isCommitted(world));
  }
  await blocker.query('drop trigger hold_up on gateways');
}

/** Whether the gateway that died first was declared dead. */
async function isCommitted(world: PostgresWorld): Promise<boolean> {
  const [left] = await world.query(LEFT);
  return left?.['gateways'] === 1;
}
