/** Looking a state directory through that no gateway uses: `trunkline doctor`. */
import { existsSync } from 'node:fs';
import { type DatabasePlace, databasePlaceOf } from '../config/database-place.ts';
import type { Environment } from '../config/env-references.ts';
import { loadConfig } from '../config/load-config.ts';
import { GatewayError } from '../protocol/errors.ts';
import { type Config, defaultConfig } from '../protocol/options/config.ts';
import { examineMirror } from '../service/mirror/examine-mirror.ts';
import type { Finding } from '../store/sql/doctor/examine-rows.ts';
import { examineStore } from '../store/sqlite/doctor/examine-store.ts';
import { lockState } from '../store/sqlite/lock-state.ts';
import { openSqliteStore } from '../store/sqlite/open-sqlite-store.ts';
import { systemClock } from '../util/clock.ts';
import { silentLogger } from '../util/logger.ts';
import { sqliteFileOf } from './sqlite-file.ts';

export interface DoctorPlace {
  fix: boolean;
  stateDir?: string | undefined;
  configPath?: string | undefined;
  env?: Environment | undefined;
}

export interface DoctorReport {
  /** the file, or the address of the database without its user and password */
  path: string;
  schemaVersion: number;
  /** `left` = something is wrong now; `healed` = nothing is any more */
  outcome: 'clean' | 'healed' | 'left';
  findings: Finding[];
}

const MAX_ROWS = 20;

/**
 * Looks at the store and its transcript files. Throws `unavailable` while a gateway uses the state
 * directory; on Postgres only to heal.
 */
export async function examineState(place: DoctorPlace): Promise<DoctorReport> {
  const env = place.env ?? process.env;
  const { database, errors } = databasePlaceOf(env);
  const [error] = errors;
  if (error !== undefined) throw new GatewayError('config', `${error.path}: ${error.message}`);
  const report =
    database === undefined ? await examineFile(place, env) : await examineDatabase(database, place);
  return { ...report, outcome: outcomeOf(report.findings) };
}

type Examined = Omit<DoctorReport, 'outcome'>;

async function examineFile(place: DoctorPlace, env: Environment): Promise<Examined> {
  const { stateDir, path } = sqliteFileOf(place, env);
  if (!existsSync(path)) throw new GatewayError('not_found', `there is no store ${path}`);
  const lock = lockState(stateDir);
  try {
    const { fix } = place;
    const { schemaVersion, isExamined, findings } = await examineStore(path, {
      fix,
      clock: systemClock,
    });
    if (isExamined) {
      const config = configOf(place, env);
      findings.push(...(await mirrorFindings({ path, stateDir, config, fix })));
    }
    return { path, schemaVersion, findings };
  } finally {
    lock.release();
  }
}

/** Gateways of one database have no transcript files. */
async function examineDatabase(
  { url, directUrl }: DatabasePlace,
  { fix }: DoctorPlace,
): Promise<Examined> {
  // loaded when it is used, as the store itself
  const { examinePostgres } = await import('../store/postgres/doctor/examine-postgres.ts');
  const { path, schemaVersion, findings } = await examinePostgres(directUrl ?? url, { fix });
  return { path, schemaVersion, findings };
}

function outcomeOf(findings: readonly Finding[]): DoctorReport['outcome'] {
  if (findings.length === 0) return 'clean';
  return findings.every(({ state }) => state === 'healed') ? 'healed' : 'left';
}

/** A broken configuration is no reason to leave a store unexamined; it only names working folders here. */
function configOf(place: DoctorPlace, env: Environment): Config {
  try {
    return loadConfig({ ...place, env, mayLackSecrets: true }).config;
  } catch {
    return defaultConfig();
  }
}

async function mirrorFindings(state: {
  path: string;
  stateDir: string;
  config: Config;
  fix: boolean;
}): Promise<Finding[]> {
  const { path, stateDir, config, fix } = state;
  const store = openSqliteStore({ path, clock: systemClock, logger: silentLogger });
  try {
    const found = await examineMirror(
      { store, config: () => config, stateDir, clock: systemClock },
      { fix },
    );
    const finding = (check: string, rule: string, keys: string[]): Finding[] =>
      keys.length === 0
        ? []
        : [
            {
              check,
              rule,
              count: keys.length,
              rows: keys.slice(0, MAX_ROWS),
              state: fix ? 'healed' : 'healable',
            },
          ];
    return [
      ...finding('mirror-missing', 'a transcript has no file', found.missing),
      ...finding('mirror-behind', 'a transcript file ends too early', found.behind),
      ...finding(
        'mirror-different',
        'a transcript file says something else than the store; it is kept aside',
        found.different,
      ),
    ];
  } finally {
    await store.close();
  }
}
