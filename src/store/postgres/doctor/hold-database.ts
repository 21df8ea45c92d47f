import { GatewayError } from '../../../protocol/errors.ts';
import { IS_DEAD } from '../membership.ts';
import type { PgConnection } from '../pg-connection.ts';

const ALIVE = `select id from gateways where not ${IS_DEAD} order by id`;

/**
 * Every unit of work begins with a lock on `schema_version`, every gateway that joins with a row of
 * `gateways`: so nobody writes while these locks are held.
 */
const HOLD = `begin;
set local idle_in_transaction_session_timeout = 0;
set local lock_timeout = '9s';
lock table schema_version, gateways in exclusive mode`;

/** Keeps gateways from writing until the connection ends. Rejects `unavailable` while one is alive. */
export async function holdDatabase(connection: PgConnection, place: string): Promise<void> {
  await connection.script(HOLD);
  await refuseLiveGateways(connection, place);
}

/** Rejects `unavailable` while a gateway is alive on the database. */
export async function refuseLiveGateways(connection: PgConnection, place: string): Promise<void> {
  const { rows } = await connection.query(ALIVE, []);
  if (rows.length === 0) return;
  throw new GatewayError(
    'unavailable',
    `the store ${place} is in use by ${rows.length === 1 ? 'a gateway' : `${rows.length} gateways`}; stop every gateway of this database first, a look without --fix needs no stop`,
  );
}
