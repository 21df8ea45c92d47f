import type { Clock } from '../../util/clock.ts';
import { META_TABLE, missingMigrations, SELECT_VERSION } from '../sql/schema.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/**
 * Brings the schema up to date, each migration in one transaction; returns how many were applied.
 * Throws `config` and changes nothing when the schema is newer than this program.
 */
export function migrate(connection: SqliteConnection, clock: Clock): number {
  connection.run(META_TABLE);
  const version = Number(connection.run(SELECT_VERSION).rows[0]?.['version']);
  const missing = missingMigrations(version, connection.path);
  for (const migration of missing) {
    connection.run('begin immediate');
    try {
      for (const statement of migration.statements(sqliteDialect)) connection.run(statement);
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
  return missing.length;
}
