import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { silentLogger } from '../../util/logger.ts';
import { META_TABLE, type Migration, MIGRATIONS } from '../sql/schema.ts';
import { applyMigrations, applyWithBackup } from './migrate.ts';
import { openSqliteStore } from './open-sqlite-store.ts';
import { SqliteConnection } from './sqlite-connection.ts';

const root = mkdtempSync(join(tmpdir(), 'trunkline-migrate-'));
after(() => rmSync(root, { recursive: true, force: true }));
const clock = { now: () => 1000 };

/** Makes a store file as the release with this schema has left it, with a session in it. */
function makeStore(name: string, version: number): { path: string; connection: SqliteConnection } {
  const path = join(root, name);
  const connection = new SqliteConnection(path, { readOnly: false });
  connection.run('pragma journal_mode = wal');
  connection.run(META_TABLE);
  applyMigrations(connection, {
    missing: MIGRATIONS.filter((each) => each.version <= version),
    clock,
  });
  connection.run(
    `insert into sessions (key, agent_id, kind, session_id, input_tokens, output_tokens, system_sent,
       aborted_last_run, root_key, spawn_depth, created_at, updated_at)
     values ('agent:main:main', 'main', 'main', 's1', 0, 0, 0, 0, 'agent:main:main', 0, 1, 1)`,
  );
  return { path, connection };
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
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  for (const { version } of MIGRATIONS) {
    it(`[CA4] opens a store file of schema ${version} with what is in it, and copies an older one first`, async () => {
      const name = `release-${version}.db`;
      const { path, connection } = makeStore(name, version);
      connection.close();
      const store = openSqliteStore({ path, clock, logger: silentLogger });
      const session = await store.read((tx) => tx.sessions.get('agent:main:main'));
      await store.close();
      assert.equal(session?.sessionId, 's1');
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
