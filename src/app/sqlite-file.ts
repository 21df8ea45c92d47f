/** The database file of a state directory, for the commands that look after it. */
import { join } from 'node:path';
import { databasePlaceOf } from '../config/database-place.ts';
import type { Environment } from '../config/env-references.ts';
import { type PlaceOptions, stateFiles } from '../config/state-files.ts';
import { GatewayError } from '../protocol/errors.ts';

/** Returns where the file is. Throws `unsupported` when the environment names a Postgres database instead. */
export function sqliteFileOf(
  options: PlaceOptions,
  env: Environment,
): { stateDir: string; path: string } {
  if (databasePlaceOf(env).database !== undefined) {
    throw new GatewayError(
      'unsupported',
      'TRUNKLINE_DATABASE_URL names a Postgres database; this command looks after the file of a state directory, use the tools of Postgres (pg_dump, pg_restore, pg_amcheck)',
    );
  }
  const { stateDir } = stateFiles(options, env);
  return { stateDir, path: join(stateDir, 'trunkline.db') };
}
