/** Looking a Postgres database through: its indexes, the schema, and what the rows say of each other. */
import pg from 'pg';
import { GatewayError } from '../../../protocol/errors.ts';
import { silentLogger } from '../../../util/logger.ts';
import type { DoctorStore } from '../../sql/doctor/check.ts';
import { examineRows, type StoreReport } from '../../sql/doctor/examine-rows.ts';
import { schemaFinding } from '../../sql/doctor/schema-finding.ts';
import { NEWEST_VERSION, missingMigrations, SELECT_VERSION } from '../../sql/schema.ts';
import { longConnectOptions, placeOf } from '../connect-options.ts';
import { refuseTransactionPooler } from '../find-pooler.ts';
import { migrateJobs } from '../job-worker.ts';
import { migrate } from '../migrate.ts';
import { PgConnection } from '../pg-connection.ts';
import { toStoreError } from '../to-store-error.ts';
import { DEFINE_IS_JSON, postgresDoctorDialect } from './doctor-dialect.ts';
import { holdDatabase, refuseLiveGateways } from './hold-database.ts';
import { indexFindings } from './index-findings.ts';

const FACTS = `select current_setting('server_version_num')::int as server_version,
  to_regclass('schema_version') is not null as is_store,
  floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`;
const SNAPSHOT = 'begin isolation level repeatable read read only';

interface Facts {
  serverVersion: number;
  schemaVersion: number;
  /** epoch ms, of the database */
  now: number;
}

/**
 * Returns what is wrong with the store. Without `fix` it looks at one snapshot and nobody waits for it;
 * with `fix` what can be healed is, one transaction per rule, and it rejects `unavailable` while a
 * gateway is alive. Rejects `not_found` without a store and `config` for a newer schema.
 */
export async function examinePostgres(
  url: string,
  { fix }: { fix: boolean },
): Promise<StoreReport & { path: string }> {
  const place = placeOf(url);
  const looking = await connect(url, place);
  const holding = fix ? await connect(url, place) : undefined;
  try {
    await refuseTransactionPooler(looking.client, { url, place });
    const facts = await factsOf(looking.connection, place);
    const { schemaVersion } = facts;
    const isOld = missingMigrations(schemaVersion, place).length > 0;
    const findings = isOld ? [schemaFinding(schemaVersion, fix)] : [];
    if (isOld && !fix) return { path: place, schemaVersion, isExamined: false, findings };
    if (holding !== undefined) await refuseLiveGateways(holding.connection, place);
    if (isOld)
      await migrate(looking.connection, {
        place,
        alsoUnderLock: () => migrateJobs(url, silentLogger),
      });
    // an index is made again under a lock of its own, which the hold would keep waiting
    findings.push(...(await indexFindings(looking.connection, { fix })));
    if (holding !== undefined) await holdDatabase(holding.connection, place);
    findings.push(...(await rowFindings(looking.connection, { fix, facts })));
    return { path: place, schemaVersion: NEWEST_VERSION, isExamined: true, findings };
  } catch (error) {
    throw toStoreError(error, place);
  } finally {
    await looking.client.end().catch(() => {});
    // last: it gives the database free
    await holding?.client.end().catch(() => {});
  }
}

async function connect(
  url: string,
  place: string,
): Promise<{ client: pg.Client; connection: PgConnection }> {
  const client = new pg.Client(longConnectOptions(url));
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw toStoreError(error, place);
  }
  return { client, connection: new PgConnection(client, { place, isPrepared: false }) };
}

async function factsOf(connection: PgConnection, place: string): Promise<Facts> {
  const { rows } = await connection.query(FACTS, []);
  const { server_version: serverVersion, is_store: isStore, now } = rows[0] ?? {};
  if (isStore !== true) {
    throw new GatewayError(
      'not_found',
      `there is no store in ${place}; a gateway makes it at its first start`,
    );
  }
  const version = await connection.query(SELECT_VERSION, []);
  const schemaVersion = Number(version.rows[0]?.['version']);
  return { serverVersion: Number(serverVersion), schemaVersion, now: Number(now) };
}

async function rowFindings(
  connection: PgConnection,
  { fix, facts: { serverVersion, now } }: { fix: boolean; facts: Facts },
): ReturnType<typeof examineRows> {
  const dialect = postgresDoctorDialect(serverVersion);
  if (serverVersion < 160_000) await connection.script(DEFINE_IS_JSON);
  const query: DoctorStore['query'] = (sql, params) => connection.query(numbered(sql), params);
  // each heal is a transaction of its own; a look is one snapshot
  if (!fix) await connection.script(SNAPSHOT);
  return examineRows({ dialect, query }, { fix, now });
}

/** The rules write their values as `?`, the server wants them numbered. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll('?', () => `$${(count += 1)}`);
}
