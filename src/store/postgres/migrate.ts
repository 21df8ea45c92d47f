import type { PgConnection } from './pg-connection.ts';
import { META_TABLE, missingMigrations, SELECT_VERSION } from '../sql/schema.ts';
import type { SqlSteps } from '../sql/sql-steps.ts';
import { postgresDialect } from './postgres-dialect.ts';

/** Any number that no other program takes: gateways that start together migrate one after another. */
const MIGRATION_LOCK = 8_106_213_045_773;

/**
 * Brings the schema up to date, each migration in one transaction; returns how many were applied.
 * Rejects `config` and changes nothing when the schema is newer than this program.
 * `alsoUnderLock` runs before the lock is given back.
 */
export async function migrate(
  connection: PgConnection,
  { place, alsoUnderLock }: { place: string; alsoUnderLock: () => Promise<void> },
): Promise<number> {
  await connection.script(`select pg_advisory_lock(${MIGRATION_LOCK})`);
  try {
    await connection.script(META_TABLE);
    const { rows } = await connection.query(SELECT_VERSION, []);
    const missing = missingMigrations(Number(rows[0]?.['version']), place);
    for (const migration of missing) {
      const statements = migration.statements(postgresDialect).join(';\n');
      await connection.script(`begin;\n${statements}`);
      if (migration.fill !== undefined) await runSteps(connection, migration.fill(postgresDialect));
      await connection.script(
        `insert into schema_version (version, name, applied_at) values
          (${migration.version}, '${migration.name}', floor(extract(epoch from clock_timestamp()) * 1000)::bigint);\ncommit`,
      );
    }
    await alsoUnderLock();
    return missing.length;
  } finally {
    if (!connection.isBroken) {
      // after a failed statement nothing but the rollback is heard
      const unlock = `rollback; select pg_advisory_unlock(${MIGRATION_LOCK})`;
      await connection.script(unlock).catch(() => {});
    }
  }
}

async function runSteps(connection: PgConnection, steps: SqlSteps): Promise<void> {
  let next = steps.next([]);
  while (next.done !== true) {
    const { rows } = await connection.query(next.value.sql, next.value.params);
    next = steps.next(rows);
  }
}
