import type { Clock } from '../../util/clock.ts';
import { META_TABLE, type Migration, missingMigrations, SELECT_VERSION } from '../sql/schema.ts';
import { createPrivate, publish, removeDatabase } from './copy-database.ts';
import { runSteps } from './run-steps.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/**
 * Brings the schema up to date, each migration in one transaction; returns how many were applied. A
 * store that has content is copied first, to `<file>.before-schema-<new version>`.
 * Throws `config` and changes nothing when the schema is newer than this program.
 */
export function migrate(connection: SqliteConnection, clock: Clock): number {
  connection.run(META_TABLE);
  const version = Number(connection.run(SELECT_VERSION).rows[0]?.['version']);
  const missing = missingMigrations(version, connection.path);
  if (version > 0) applyWithBackup(connection, { missing, clock });
  else applyMigrations(connection, { missing, clock });
  return missing.length;
}

/** Copies the database, then applies migrations to it; without any it does nothing. */
export function applyWithBackup(
  connection: SqliteConnection,
  work: { missing: readonly Migration[]; clock: Clock },
): void {
  const newest = work.missing.at(-1);
  if (newest === undefined) return;
  backUpBefore(connection, `${connection.path}.before-schema-${newest.version}`);
  applyMigrations(connection, work);
}

/** Applies migrations one by one; each that has succeeded stays when a later one fails. */
export function applyMigrations(
  connection: SqliteConnection,
  { missing, clock }: { missing: readonly Migration[]; clock: Clock },
): void {
  for (const migration of missing) {
    connection.run('begin immediate');
    try {
      for (const statement of migration.statements(sqliteDialect)) connection.run(statement);
      if (migration.fill !== undefined) runSteps(connection, migration.fill(sqliteDialect));
      connection.run('insert into schema_version (version, name, applied_at) values (?, ?, ?)', [
        migration.version,
        migration.name,
        clock.now(),
      ]);
      connection.run('commit');
    } catch (error) {
      if (connection.isInTransaction) connection.run('rollback');
      throw error;
    }
  }
}

/** At the start nobody else writes, so the copy may hold the thread. A copy of an earlier try is replaced. */
function backUpBefore(connection: SqliteConnection, to: string): void {
  const partial = `${to}.partial`;
  removeDatabase(partial);
  try {
    createPrivate(partial);
    connection.run('vacuum into ?', [partial]);
    publish(partial, to);
  } finally {
    removeDatabase(partial);
  }
}
