import pg from 'pg';
import { GatewayError } from '../../protocol/errors.ts';
import { connectOptions } from './connect-options.ts';

/**
 * Returns what kind of pooler stands between this client and the database, undefined for none.
 * A pooler makes up the process id that it tells a client. In transaction mode a second client in a
 * transaction is served by the process that served the first, or drives it to another one.
 */
export async function findPooler(
  client: pg.Client,
  url: string,
): Promise<'session' | 'transaction' | undefined> {
  const told = (client as unknown as { processID: number | null }).processID;
  const served = await pidOf(client);
  if (told === served) return undefined;
  const second = new pg.Client(connectOptions(url));
  second.on('error', () => {});
  try {
    await second.connect();
    await second.query('begin');
    const isShared = (await pidOf(second)) === served || (await pidOf(client)) !== served;
    await second.query('rollback');
    return isShared ? 'transaction' : 'session';
  } finally {
    await second.end().catch(() => {});
  }
}

/** Rejects `config` where a transaction pooler stands in between. */
export async function refuseTransactionPooler(
  client: pg.Client,
  { url, place }: { url: string; place: string },
): Promise<void> {
  if ((await findPooler(client, url)) !== 'transaction') return;
  throw new GatewayError(
    'config',
    `${place} leads through a transaction pooler (such as PgBouncer in transaction mode), where locks and notifications are lost; set TRUNKLINE_DATABASE_DIRECT_URL to the address of the database itself`,
  );
}

async function pidOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}
