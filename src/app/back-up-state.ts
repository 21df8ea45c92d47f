/** Copies of the store: taken while a gateway runs, put back while none does. */
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Environment } from '../config/env-references.ts';
import { expandPath } from '../config/state-files.ts';
import { GatewayError } from '../protocol/errors.ts';
import { copyDatabase } from '../store/sqlite/copy-database.ts';
import { inspectFile } from '../store/sqlite/inspect-file.ts';
import { lockState } from '../store/sqlite/lock-state.ts';
import { restoreDatabase } from '../store/sqlite/restore-database.ts';
import { systemClock } from '../util/clock.ts';
import { refusePostgres, sqliteFileOf } from './sqlite-file.ts';

export interface CopyPlace {
  /** the backup */
  file: string;
  stateDir?: string | undefined;
  env?: Environment | undefined;
}

/** The tables of the job worker are in the same database, so that work and jobs are of one moment. */
const PG_DUMP = 'pg_dump --format=custom --file=FILE "$TRUNKLINE_DATABASE_URL"';
const PG_RESTORE =
  'pg_restore --clean --if-exists --single-transaction --dbname="$TRUNKLINE_DATABASE_URL" FILE, while every gateway of the database is stopped';

export interface BackupReport {
  file: string;
  bytes: number;
  schemaVersion: number;
}

/**
 * Copies the store of one moment into `file`, whether or not a gateway runs, and looks the copy
 * through. It reads the database itself: so nothing of a running gateway waits for it, and no client
 * gets the right to write files on the gateway's machine.
 */
export async function backUpState(place: CopyPlace): Promise<BackupReport> {
  const env = place.env ?? process.env;
  refusePostgres(env, PG_DUMP);
  const { path: source } = sqliteFileOf(place, env);
  const file = expandPath(place.file);
  if (!existsSync(source)) throw new GatewayError('not_found', `there is no store ${source}`);
  if (existsSync(file)) {
    throw new GatewayError('invalid_request', `${file} exists already; give another name`);
  }
  const folder = dirname(file);
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new GatewayError('not_found', `there is no folder ${folder} to put the backup into`);
  }
  await copyDatabase(source, file);
  const { damage, schemaVersion, size } = inspectFile(file);
  if (damage.length > 0) {
    throw new GatewayError(
      'unavailable',
      `the store ${source} is damaged, and so is its copy ${file} (${damage[0]}); "trunkline doctor" says more`,
    );
  }
  return { file, bytes: size, schemaVersion };
}

export interface RestoreReport {
  file: string;
  schemaVersion: number;
  /** where the store that was there is kept; absent when there was none */
  keptAs?: string;
}

/** Puts a backup in the place of the store. Throws `unavailable` while a gateway uses the state directory. */
export async function restoreState(place: CopyPlace): Promise<RestoreReport> {
  const env = place.env ?? process.env;
  refusePostgres(env, PG_RESTORE);
  const { path, stateDir } = sqliteFileOf(place, env);
  const file = expandPath(place.file);
  const lock = lockState(stateDir);
  try {
    const stamp = new Date(systemClock.now()).toISOString().replaceAll(':', '-');
    const { schemaVersion, keptAs } = await restoreDatabase(file, { path, stamp });
    return { file, schemaVersion, ...(keptAs === undefined ? {} : { keptAs }) };
  } finally {
    lock.release();
  }
}
