/** The database file of a state directory, for the commands that look after it. */
import { join } from 'node:path';
import { databasePlaceOf } from '../config/database-place.ts';
import type { Environment } from '../config/env-references.ts';
import { type PlaceOptions, stateFiles } from '../config/state-files.ts';
import { GatewayError } from '../protocol/errors.ts';

/** Returns where the file of a state directory is. */
export function sqliteFileOf(
  options: PlaceOptions,
  env: Environment,
): { stateDir: string; path: string } {
  const { stateDir } = stateFiles(options, env);
  return { stateDir, path: join(stateDir, 'trunkline.db') };
}

/** Throws `unsupported` when the environment names a Postgres database; `instead` is what does the same there. */
export function refusePostgres(env: Environment, instead: string): void {
  if (databasePlaceOf(env).database === undefined) return;
  throw new GatewayError(
    'unsupported',
    `TRUNKLINE_DATABASE_URL names a Postgres database, and this command copies the file of a state directory; use ${instead}`,
  );
}
