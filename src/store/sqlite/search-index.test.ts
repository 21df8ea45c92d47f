import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { parseSearchQuery } from '../../core/search-query.ts';
import { session } from '../contract/samples.suite.ts';
import { rebuildSearch } from '../sql/fill-search.ts';
import { META_TABLE, MIGRATIONS } from '../sql/schema.ts';
import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import { applyMigrations } from './migrate.ts';
import { runSteps } from './run-steps.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

const clock = { now: () => 1 };
const BEFORE = MIGRATIONS.findIndex(({ name }) => name === 'search');

/** Returns a database of that schema in a file of its own. */
function openSchema(t: TestContext, version: number): SqliteConnection {
  const folder = mkdtempSync(join(tmpdir(), 'search-index-'));
  const connection = new SqliteConnection(join(folder, 'test.db'), { readOnly: false });
  t.after(() => {
    connection.close();
    rmSync(folder, { recursive: true });
  });
  connection.run('pragma synchronous = off');
  connection.run(META_TABLE);
  const missing = MIGRATIONS.filter((each) => each.version <= version);
  applyMigrations(connection, { missing, clock });
  return connection;
}
const txOf = (connection: SqliteConnection) => new SqlTx(new SqlUnit(connection, sqliteDialect, 1));

async function find(connection: SqliteConnection, query: string): Promise<string[]> {
  const parsed = parseSearchQuery(query);
  assert.ok(parsed.ok);
  const hits = await txOf(connection).search.find({
    units: parsed.units,
    scopes: [],
    keys: ['a', 'b'],
    before: undefined,
    limit: 2000,
  });
  return hits.map(({ sessionId, seq }) => `${sessionId} ${seq}`);
}

const messageOf = (text: string) => JSON.stringify({ role: 'user', content: text, timestamp: 1 });

/** Writes an entry as a release before the index did. */
function addOld(connection: SqliteConnection, entry: { key: string; seq: number; text: string }) {
  connection.run(
    `insert into entries (session_id, seq, entry_id, type, role, json, created_at)
      values (?, ?, ?, 'message', 'user', ?, ?)`,
    [`window of ${entry.key}`, entry.seq, `e${entry.seq}`, messageOf(entry.text), entry.seq],
  );
}

async function addSessions(connection: SqliteConnection): Promise<void> {
  for (const key of ['a', 'b']) await txOf(connection).sessions.insert(session(key));
}

test('[SR10] the migration takes in what is there, in order of time', async (t) => {
  const connection = openSchema(t, BEFORE);
  // a schema that does not know later columns yet
  connection.run(`insert into sessions (key, agent_id, kind, session_id, input_tokens, output_tokens,
      system_sent, aborted_last_run, root_key, spawn_depth, created_at, updated_at)
    values ('a', 'main', 'main', 'window of a', 0, 0, 0, 0, 'a', 0, 1, 1)`);
  connection.run(`insert into windows (session_id, session_key, started_at, next_seq)
    values ('window of a', 'a', 1, 1)`);
  for (let seq = 1; seq <= 1200; seq += 1)
    addOld(connection, { key: 'a', seq, text: `needle ${seq}` });
  addOld(connection, { key: 'a', seq: 1201, text: `large ${'x '.repeat(3_000_000)}` });
  connection.run(`update entries set json = 'torn' where seq = 2`);
  applyMigrations(connection, { missing: MIGRATIONS.slice(BEFORE), clock });
  const found = await find(connection, 'needle');
  const readable = Array.from({ length: 1200 }, (_, index) => 1200 - index);
  assert.deepEqual(
    found,
    readable.filter((seq) => seq !== 2).map((seq) => `window of a ${seq}`),
  );
  assert.deepEqual(await find(connection, '"needle 1200"'), ['window of a 1200']);
  assert.deepEqual(await find(connection, 'large'), ['window of a 1201']);
});

test('[SR10] an index that is made again is the one that grew with the messages', async (t) => {
  const connection = openSchema(t, MIGRATIONS.length);
  await addSessions(connection);
  const words = fc.array(fc.constantFrom('needle', 'Hay', '東京', 'x*', '!', ''), { maxLength: 5 });
  const said = fc.array(fc.tuple(fc.constantFrom('a', 'b'), words), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(said, async (messages) => {
      for (const [key, text] of messages)
        await txOf(connection).entries.append({
          sessionId: `window of ${key}`,
          entryId: `${Math.random()}`,
          type: 'message',
          role: 'user',
          runId: null,
          json: messageOf(text.join(' ')),
          createdAt: 1,
        });
      const queries = ['needle', 'hay', '京', '"needle hay"', 'nee*'];
      const all = () =>
        Promise.all(queries.map(async (each) => (await find(connection, each)).toSorted()));
      const grown = await all();
      connection.run('begin');
      runSteps(connection, rebuildSearch(sqliteDialect));
      connection.run('commit');
      assert.deepEqual(await all(), grown);
    }),
    { numRuns: 20 },
  );
});

test('[SR10] whoever removes entries, the index follows, and a rebuild too', async (t) => {
  const connection = openSchema(t, MIGRATIONS.length);
  await addSessions(connection);
  const add = (text: string) =>
    txOf(connection).entries.append({
      sessionId: 'window of a',
      entryId: text,
      type: 'message',
      role: 'user',
      runId: null,
      json: messageOf(text),
      createdAt: 1,
    });
  for (const text of ['needle one', 'needle two', '!']) await add(text);
  connection.run('delete from entries where seq = 1');
  assert.deepEqual(await find(connection, 'needle'), ['window of a 2']);
  runSteps(connection, rebuildSearch(sqliteDialect));
  connection.run('vacuum');
  await add('needle three');
  assert.deepEqual(await find(connection, 'needle'), ['window of a 4', 'window of a 2']);
  connection.run('delete from entries');
  for (const table of ['search_entries', 'search_terms_docsize'])
    assert.equal(connection.run(`select count(*) as left from ${table}`).rows[0]?.['left'], 0);
});
