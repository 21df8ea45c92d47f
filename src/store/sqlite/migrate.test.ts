import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { silentLogger } from '../../util/logger.ts';
import { META_TABLE, type Migration, MIGRATIONS, NEWEST_VERSION } from '../sql/schema.ts';
import {
  assertInUse,
  type Column,
  insertionOf,
  missingRows,
  type Sample,
  sampleRows,
} from '../sql/migrations/sample-rows.suite.ts';
import { applyMigrations, applyWithBackup } from './migrate.ts';
import { openSqliteStore } from './open-sqlite-store.ts';
import { SqliteConnection } from './sqlite-connection.ts';

const root = mkdtempSync(join(tmpdir(), 'trunkline-migrate-'));
after(() => rmSync(root, { recursive: true, force: true }));
const clock = { now: () => 1000 };

/** Makes a store file as the release with this schema has left it, with rows in every table of content. */
function makeStore(
  name: string,
  version: number,
): { path: string; connection: SqliteConnection; rows: Map<string, Sample[]> } {
  const path = join(root, name);
  const connection = new SqliteConnection(path, { readOnly: false });
  connection.run('pragma journal_mode = wal');
  connection.run(META_TABLE);
  applyMigrations(connection, {
    missing: MIGRATIONS.filter((each) => each.version <= version),
    clock,
  });
  const rows = sampleRows(connection.run(COLUMNS).rows as unknown as Column[]);
  for (const [table, samples] of rows) {
    for (const row of samples) {
      const { sql, values } = insertionOf(table, { row, placeholder: () => '?' });
      connection.run(sql, values);
    }
  }
  return { path, connection, rows };
}

// the index of searches is made of the entries
const COLUMNS = `select m.name as "table", c.name, lower(c.type) as type
  from sqlite_schema m join pragma_table_info(m.name) c
  where m.type = 'table' and m.name not like 'sqlite_%' and m.name not like 'search_%'
    and m.name <> 'schema_version'`;

function rowsOf(path: string, table: string): Record<string, unknown>[] {
  const connection = new SqliteConnection(path, { readOnly: true });
  try {
    return connection.run(`select * from ${table}`).rows;
  } finally {
    connection.close();
  }
}

function versionOf(path: string): number {
  const connection = new SqliteConnection(path, { readOnly: true });
  try {
    return Number(
      connection.run('select max(version) as version from schema_version').rows[0]?.['version'],
    );
  } finally {
    connection.close();
  }
}
const copiesOf = (name: string) => readdirSync(root).filter((file) => file.startsWith(`${name}.`));

describe('migrate', () => {
  const newest = NEWEST_VERSION;
  it('[CA4] each migration stands in a file of its version and name, and none is left out', () => {
    const folder = join(import.meta.dirname, '../sql/migrations');
    const files = readdirSync(folder).filter((file) => /^\d/.test(file));
    assert.deepEqual(
      files.toSorted(),
      MIGRATIONS.map(({ version, name }) => `${String(version).padStart(4, '0')}-${name}.ts`),
    );
    assert.deepEqual(
      MIGRATIONS.map(({ version }) => version),
      MIGRATIONS.map((_, at) => at + 1),
    );
  });

  for (const { version } of MIGRATIONS) {
    it(`[CA4] opens a store file of schema ${version} with what is in it, and copies an older one first`, async () => {
      const name = `release-${version}.db`;
      const { path, connection, rows } = makeStore(name, version);
      connection.close();
      const store = openSqliteStore({ path, clock, logger: silentLogger });
      await assertInUse(store);
      await store.close();
      for (const [table, samples] of rows) {
        assert.deepEqual(missingRows(samples, rowsOf(path, table)), [], table);
      }
      assert.equal(versionOf(path), newest);
      const isOlder = version < newest;
      assert.deepEqual(copiesOf(name), isOlder ? [`${name}.before-schema-${newest}`] : []);
      if (isOlder) assert.equal(versionOf(`${path}.before-schema-${newest}`), version);
    });
  }

  const next = (statement: string): Migration => ({
    version: newest + 1,
    name: 'next',
    statements: () => [statement],
  });

  it('[CA4] copies an existing store before a migration, for its owner alone', () => {
    const { path, connection } = makeStore('next.db', newest);
    const missing = [next('alter table sessions add column mood text')];
    applyWithBackup(connection, { missing, clock });
    connection.close();
    assert.equal(versionOf(path), newest + 1);
    const copy = `next.db.before-schema-${newest + 1}`;
    assert.deepEqual(copiesOf('next.db'), [copy]);
    assert.equal(versionOf(join(root, copy)), newest);
    assert.equal(statSync(join(root, copy)).mode & 0o077, 0);
  });

  it('[CA4] leaves the store as it was when a migration fails, with the copy beside it', () => {
    const { path, connection } = makeStore('failing.db', newest);
    const missing = [next('alter table nowhere add column mood text')];
    assert.throws(() => applyWithBackup(connection, { missing, clock }), /no such table: nowhere/);
    assert.throws(() => applyWithBackup(connection, { missing, clock }), /no such table: nowhere/);
    connection.close();
    assert.equal(versionOf(path), newest);
    assert.deepEqual(copiesOf('failing.db'), [`failing.db.before-schema-${newest + 1}`]);
  });
});
