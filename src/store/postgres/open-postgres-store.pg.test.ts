import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import pg from 'pg';
import { silentLogger } from '../../util/logger.ts';
import { storeContract } from '../contract.suite.ts';
import type { Store } from '../store.ts';
import { openPostgresStore } from './open-postgres-store.ts';
import { startPostgres } from './postgres-server.suite.ts';

const server = await startPostgres();

// The contract sets the store's clock. It is the database's, so the test puts a clock of its own
// into the database, in a schema that is searched before the built-in one.
const CLOCK = 'test_clock';
const url = await server.createDatabase('contract');
const admin = new pg.Client(url);
await admin.connect();
await admin.query(
  `create schema ${CLOCK};
  create table ${CLOCK}.time (at bigint not null);
  insert into ${CLOCK}.time values (1000);
  create function ${CLOCK}.clock_timestamp() returns timestamptz language sql volatile
    as 'select to_timestamp(at / 1000.0) from ${CLOCK}.time'`,
);
const clockedUrl = `${url}?options=${encodeURIComponent(`-c search_path=${CLOCK},pg_catalog`)}`;

/** Opening takes a while; a test that does not close its store leaves it to the next one. */
let store: Store | undefined;
after(async () => {
  await store?.close();
  await admin.end();
  await server.stop();
});

storeContract('Postgres', async () => {
  const open = (store ??= await openPostgresStore({
    url: clockedUrl,
    logger: silentLogger,
    bootId: randomUUID(),
    // the contract leaves lanes of the dead for the test to free
    sweepEveryMs: 3_600_000,
  }));
  const clock = { at: 1000 };
  let told = clock.at;
  await empty();
  const clocked: Store = {
    read: (fn) => open.read(fn),
    write: async (unit, fn) => {
      if (clock.at !== told) {
        told = clock.at;
        await admin.query(`update ${CLOCK}.time set at = $1`, [told]);
      }
      return open.write(unit, fn);
    },
    onSignal: (listener) => open.onSignal(listener),
    close: () => {
      store = undefined;
      return open.close();
    },
  };
  return { store: clocked, clock, close: () => Promise.resolve() };
});

/** All tables but those that say what version they have and whose they are, and the gateways: one is alive. */
async function empty(): Promise<void> {
  const tables = await admin.query<{ tablename: string }>(
    `select tablename from pg_tables where schemaname = $1
      and tablename not in ('schema_version', 'store_identity', 'gateways', 'time')`,
    [CLOCK],
  );
  const names = tables.rows.map(({ tablename }) => `${CLOCK}."${tablename}"`).join(', ');
  await admin.query(
    `truncate ${names}, graphile_worker._private_jobs restart identity; update ${CLOCK}.time set at = 1000`,
  );
}
