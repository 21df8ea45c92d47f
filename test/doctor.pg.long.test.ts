/** `trunkline doctor` on Postgres databases. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { examineState } from '../src/app/examine-state.ts';
import { startGateway } from '../src/app/start-gateway.ts';
import { holdDatabase } from '../src/store/postgres/doctor/hold-database.ts';
import { PgConnection } from '../src/store/postgres/pg-connection.ts';
import { startPostgres } from '../src/store/postgres/postgres-server.suite.ts';
import { silentLogger } from '../src/util/logger.ts';
import {
  damage,
  doctorRules,
  forgetModels,
  live,
  type Patient,
  statesOf,
} from './doctor-rules.suite.ts';
import { runCli } from './helpers/captured-io.ts';
import { startWorld } from './helpers/test-world.ts';

const server = await startPostgres();
const root = mkdtempSync(join(tmpdir(), 'doctor-pg-'));
const lived = await server.createDatabase('lived');
after(async () => {
  await server.stop();
  rmSync(root, { recursive: true, force: true });
});

before(async (t) => {
  const env = { TRUNKLINE_DATABASE_URL: lived };
  const world = await startWorld(t as never, { talk: true, env });
  await live(world);
  cpSync(world.gateway.stateDir, join(root, 'state'), { recursive: true });
  forgetModels(join(root, 'state'));
});

let copies = 0;
async function freshCopy(): Promise<string> {
  copies += 1;
  const copy = new URL(lived);
  copy.pathname = `/copy-${copies}`;
  await server.query(
    lived.replace(/lived$/, 'postgres'),
    `create database "copy-${copies}" template "lived"`,
  );
  return copy.href;
}

/** One database whose rows are put back: a copy of its own for each rule takes a second of the server's time. */
let ward: Promise<{ url: string; putBack: string }> | undefined;
async function makeWard(): Promise<{ url: string; putBack: string }> {
  const url = await freshCopy();
  const found = await server.query(
    url,
    "select tablename from pg_tables where schemaname = 'public'",
  );
  const tables = found.map((row) => String(row['tablename']));
  const keep = tables.map((table) => `create table kept.${table} as table ${table}`);
  await server.query(url, ['create schema kept', ...keep, KEEP_JOBS].join(';\n'));
  const fill = tables.map((table) => `insert into ${table} select * from kept.${table}`);
  const empty = `truncate ${tables.join(', ')}, graphile_worker._private_jobs`;
  return { url, putBack: [empty, ...fill, PUT_JOBS_BACK].join(';\n') };
}
const KEEP_JOBS = `create table kept.jobs as select tasks.identifier, jobs.payload, jobs.key, jobs.run_at
  from graphile_worker._private_jobs jobs
  join graphile_worker._private_tasks tasks on tasks.id = jobs.task_id where jobs.key is not null`;
const PUT_JOBS_BACK = `select graphile_worker.add_job(identifier, payload => payload, job_key => key, run_at => run_at)
  from kept.jobs`;

doctorRules('Postgres', async () => {
  const { url, putBack } = await (ward ??= makeWard());
  await server.query(url, putBack);
  return patientAt(url);
});

function patientAt(url: string): Patient {
  const env = { TRUNKLINE_DATABASE_URL: url };
  const stateDir = join(root, 'state');
  return {
    run: async (sql) => {
      const client = new pg.Client(url);
      await client.connect();
      try {
        return (await client.query(sql)).rowCount ?? 0;
      } finally {
        await client.end();
      }
    },
    sum: async (sql) => {
      const [row] = await server.query(url, sql);
      return Number(Object.values(row ?? {})[0]);
    },
    columnsOf: async (table) => {
      const sql = `select column_name from information_schema.columns
        where table_schema = 'public' and table_name = $1`;
      return (await server.query(url, sql, [table])).map((row) => String(row['column_name']));
    },
    dropJob: (jobKey) => `select graphile_worker.remove_job('${jobKey}')`,
    addJob: `select graphile_worker.add_job('deliver', payload => '{}'::json, job_key => 'deliver:x')`,
    examine: (options = { fix: false }) => examineState({ stateDir, env, ...options }),
    doctor: (...flags) => runCli(['doctor', ...flags, '--state-dir', stateDir], env),
    start: () => startGateway({ stateDir, port: 0, env, logger: silentLogger }),
  };
}

test('[DC1] a database that was used is clean, and the report names it without its password', async () => {
  const { exitCode, out } = await patientAt(await freshCopy()).doctor();
  assert.equal(exitCode, 0, out);
  assert.match(out, /^postgres:\/\/127\.0\.0\.1:\d+\/copy-\d+: nothing is wrong$/);
});

test('[DC8] a look while gateways are at work finds nothing and changes nothing; to heal is refused', async (t) => {
  const patient = patientAt(await freshCopy());
  const gateway = await patient.start();
  t.after(() => gateway.stop());
  assert.equal((await patient.doctor()).exitCode, 0);
  const { exitCode, notes } = await patient.doctor('--fix');
  assert.equal(exitCode, 1);
  assert.match(notes, /copy-\d+ is in use by a gateway; stop every gateway of this database/);
  await gateway.stop();
  assert.equal((await patient.doctor('--fix')).exitCode, 0);
});

test('[DC8] a gateway is alive while its lease and its session last', async (t) => {
  const url = await freshCopy();
  const patient = patientAt(url);
  const row = (lease: string): string =>
    `insert into gateways (id, lock_key, heartbeat_at, lease_until) values ('g', 77, 1, ${lease})`;
  await damage(patient, row('9e15::bigint'));
  const session = new pg.Client(url);
  await session.connect();
  t.after(() => session.end());
  await session.query('select pg_advisory_lock(77)');
  await assert.rejects(patient.examine({ fix: true }), { code: 'unavailable' });
  await session.query('select pg_advisory_unlock(77)');
  assert.equal((await patient.examine({ fix: true })).outcome, 'clean', 'its process is gone');
  await session.query('select pg_advisory_lock(77)');
  await damage(patient, "update gateways set lease_until = 1 where id = 'g'");
  assert.equal((await patient.examine({ fix: true })).outcome, 'clean', 'it is paused');
});

test('[DC8] while the doctor heals, no gateway joins and no unit of work begins', async (t) => {
  const url = await freshCopy();
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client(url);
    await client.connect();
    t.after(() => client.end());
    return client;
  };
  await holdDatabase(new PgConnection(await connect(), { place: 'p', isPrepared: false }), 'p');
  const other = await connect();
  for (const table of ['schema_version in row share', 'gateways in row exclusive']) {
    await other.query('begin');
    const isLocked = { code: '55P03' };
    await assert.rejects(other.query(`lock table ${table} mode nowait`), isLocked, table);
    await other.query('rollback');
  }
});

test('[DC5] an index that was not made to its end is made again', async () => {
  const patient = patientAt(await freshCopy());
  await damage(
    patient,
    "update pg_index set indisvalid = false where indexrelid = 'runs_state'::regclass",
  );
  const found = await patient.examine();
  assert.deepEqual(statesOf(found), ['index-invalid healable']);
  assert.deepEqual(found.findings[0]?.rows, ['runs_state']);
  assert.deepEqual(statesOf(await patient.examine({ fix: true })), ['index-invalid healed']);
  assert.deepEqual(statesOf(await patient.examine()), []);
});

test('[DC5] an index that does not fit its table is found where amcheck is, and made again', async () => {
  const url = await freshCopy();
  const patient = patientAt(url);
  // the order of an index that was made under another collation does not hold either
  const ordered = (by: string): string =>
    `create or replace function place_of(id text) returns text language sql immutable as $$ select ${by} $$`;
  await server.query(url, ordered('id'));
  await server.query(url, 'create index runs_placed on runs (place_of(run_id))');
  await server.query(url, ordered("translate(id, '0123456789abcdef', 'fedcba9876543210')"));
  assert.deepEqual(statesOf(await patient.examine()), [], 'nobody knows without amcheck');
  await server.query(url, 'create extension amcheck');
  const found = await patient.examine();
  assert.deepEqual(statesOf(found), ['index healable']);
  assert.deepEqual(found.findings[0]?.rows, ['runs_placed']);
  assert.deepEqual(statesOf(await patient.examine({ fix: true })), ['index healed']);
  assert.deepEqual(statesOf(await patient.examine()), []);
});

test('[DC6] the doctor needs a store, a schema it knows, and a database in reach', async () => {
  const empty = patientAt(await server.createDatabase('empty'));
  const none = await empty.doctor();
  assert.deepEqual([none.exitCode, /there is no store in postgres:/.test(none.notes)], [1, true]);
  const newer = patientAt(await freshCopy());
  await damage(newer, "insert into schema_version (version, name, applied_at) values (99, 'x', 1)");
  for (const flags of [[], ['--fix']]) {
    const refused = await newer.doctor(...flags);
    assert.equal(refused.exitCode, 1);
    assert.match(refused.notes, /schema version 99/);
  }
  const away = await patientAt('postgres://u:secret@127.0.0.1:1/d').doctor();
  assert.equal(away.exitCode, 1);
  assert.match(away.notes, /postgres:\/\/127\.0\.0\.1:1\/d cannot be used/);
  assert.doesNotMatch(away.notes, /secret/);
  const odd = await runCli(['doctor'], { TRUNKLINE_DATABASE_URL: 'mysql://u:secret@h/d' });
  assert.equal(odd.exitCode, 1);
  assert.match(odd.notes, /TRUNKLINE_DATABASE_URL: expected postgres:/);
  assert.doesNotMatch(odd.notes, /secret/);
});
