import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../protocol/errors.ts';
import { missingMigrations } from '../sql/schema.ts';
import { copyDatabase, publish } from './copy-database.ts';
import { inspectFile } from './inspect-file.ts';

export interface RestoredDatabase {
  schemaVersion: number;
  /** where the database that was there is kept; undefined when there was none */
  keptAs: string | undefined;
}

/**
 * Puts a backup in the place of a database that nobody uses, and keeps the one that was there beside
 * it. Throws before anything is changed when the backup is damaged, no store, or of a newer schema.
 */
export async function restoreDatabase(
  backupFile: string,
  { path, stamp }: { path: string; stamp: string },
): Promise<RestoredDatabase> {
  const schemaVersion = checkBackup(backupFile);
  const incoming = `${path}.incoming`;
  await copyDatabase(backupFile, incoming);
  const keptAs = existsSync(path) ? `${path}.before-restore-${stamp}` : undefined;
  if (keptAs !== undefined) keepAside(path, keptAs);
  publish(incoming, path);
  return { schemaVersion, keptAs };
}

function checkBackup(file: string): number {
  if (!existsSync(file)) throw new GatewayError('not_found', `there is no file ${file}`);
  const { damage, schemaVersion } = inspectFile(file);
  if (damage.length > 0) {
    throw new GatewayError(
      'invalid_request',
      `the backup ${file} is damaged (${damage[0]}); nothing was changed, take another backup`,
    );
  }
  if (schemaVersion === 0) {
    throw new GatewayError(
      'invalid_request',
      `${file} is no store of Trunkline; nothing was changed`,
    );
  }
  missingMigrations(schemaVersion, file);
  return schemaVersion;
}

/**
 * A log that stays behind would be read into the new database. So it is folded into the file first;
 * when the file is too damaged for that, it is kept aside together with it.
 */
function keepAside(path: string, keptAs: string): void {
  foldLog(path);
  try {
    linkSync(path, keptAs);
  } catch {
    // not every file system has links
    copyFileSync(path, keptAs);
  }
  if (existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${keptAs}-wal`);
  rmSync(`${path}-shm`, { force: true });
}

function foldLog(path: string): void {
  try {
    const db = new DatabaseSync(path);
    try {
      db.exec('pragma journal_mode = delete');
    } finally {
      db.close();
    }
  } catch {
    // too damaged to be opened: then it is kept as it is
  }
}
