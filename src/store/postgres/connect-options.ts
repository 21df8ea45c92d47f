import pg from 'pg';

/** Where a store is, without what is secret: `postgres://host:port/database`. */
export function placeOf(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `postgres://${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
  } catch {
    return 'postgres://…';
  }
}

const INT8 = 20;
/** Our integers are epoch milliseconds, counters and seqs: all within 2^53. */
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

/** How every connection is made. A peer that is gone is noticed by keepalive, not by hope. */
export function connectOptions(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'trunkline',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    connectionTimeoutMillis: 10_000,
    // longer than any statement of ours waits for a lock
    query_timeout: 20_000,
    types,
  };
}

/** The same for statements that take as long as there are rows: migrations, and the rules of the doctor. */
export function longConnectOptions(url: string): pg.ClientConfig {
  const { query_timeout: _, ...options } = connectOptions(url);
  return options;
}

/** Returns a pool whose connections may break: a query in it is rejected, the next use makes a new one. */
export function createPool(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({ ...connectOptions(url), max, idleTimeoutMillis: 30_000 });
  pool.on('error', () => {});
  // a client that is in use is not watched by its pool; its query is rejected as well
  pool.on('connect', (client) => void client.on('error', () => {}));
  return pool;
}
