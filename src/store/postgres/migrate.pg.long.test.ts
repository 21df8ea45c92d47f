import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { silentLogger } from '../../util/logger.ts';
import {
  assertInUse,
  type Column,
  insertionOf,
  missingRows,
  type Sample,
  sampleRows,
} from '../sql/migrations/sample-rows.suite.ts';
import { META_TABLE, MIGRATIONS, NEWEST_VERSION } from '../sql/schema.ts';
import { openPostgresStore } from './open-postgres-store.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { startPostgres } from './postgres-server.suite.ts';

const server = await startPostgres();
after(() => server.stop());

const COLUMNS = `select table_name as "table", column_name as name, data_type as type
  from information_schema.columns
  where table_schema = 'public' and table_name not in ('schema_version', 'gateways', 'search_entries')
  order by table_name, ordinal_position`;

/** Makes a database as the release with this schema has left it, with rows in every table but that of gateways: who is gone is taken over. */
async function makeDatabase(
  version: number,
): Promise<{ url: string; rows: Map<string, Sample[]> }> {
  const url = await server.createDatabase(`release-${version}`);
  await server.query(url, META_TABLE);
  for (const migration of MIGRATIONS.filter((each) => each.version <= version)) {
    await server.query(url, migration.statements(postgresDialect).join(';\n'));
    const values = [migration.version, migration.name];
    await server.query(url, 'insert into schema_version values ($1, $2, 1)', values);
  }
  const rows = sampleRows((await server.query(url, COLUMNS)) as unknown as Column[]);
  for (const [table, samples] of rows) {
    for (const row of samples) {
      const { sql, values } = insertionOf(table, { row, placeholder: (at) => `$${at}` });
      await server.query(url, sql, values);
    }
  }
  return { url, rows };
}

/** `bigint` comes as text. */
function withNumbers(row: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(row).map(([name, value]) => {
    const isNumber = typeof value === 'string' && /^\d+$/.test(value);
    return [name, isNumber ? Number(value) : value] as const;
  });
  return Object.fromEntries(entries);
}

describe('migrate on Postgres', () => {
  for (const { version } of MIGRATIONS) {
    it(`[CA4] opens a database of schema ${version} with what is in it`, async () => {
      const { url, rows } = await makeDatabase(version);
      const store = await openPostgresStore({ url, logger: silentLogger, bootId: 'newest' });
      await assertInUse(store);
      await store.close();
      for (const [table, samples] of rows) {
        const found = await server.query(url, `select * from ${table}`);
        assert.deepEqual(missingRows(samples, found.map(withNumbers)), [], table);
      }
      const [meta] = await server.query(url, 'select max(version) as version from schema_version');
      assert.equal(meta?.['version'], NEWEST_VERSION);
    });
  }
});
