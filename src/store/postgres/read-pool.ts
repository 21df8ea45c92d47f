import type pg from 'pg';
import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { ReadTx, SlowReadLimit } from '../store.ts';
import { GraphileJobs } from './graphile-jobs.ts';
import { BY_INDEX, PgConnection } from './pg-connection.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { toStoreError } from './to-store-error.ts';

const BEGIN = `begin isolation level repeatable read read only;
set local idle_in_transaction_session_timeout = '60s';
${BY_INDEX}`;

/** A slow read may take a bitmap from an index as well: the words of messages have no order. */
function beginSlow(timeoutMs: number): string {
  return `${BEGIN};
set local enable_bitmapscan = on;
set local statement_timeout = ${timeoutMs}`;
}
/** SQLSTATE of a statement that was cancelled, by its time limit here. */
const CANCELLED = '57014';

/** Reads, each on a snapshot of its own, side by side. */
export class ReadPool {
  readonly #pool: pg.Pool;
  readonly #options: { place: string; isPrepared: boolean };
  readonly #running = new Set<Promise<unknown>>();

  constructor(pool: pg.Pool, options: { place: string; isPrepared: boolean }) {
    this.#pool = pool;
    this.#options = options;
  }

  run<T>(fn: (tx: ReadTx) => Promise<T>): Promise<T> {
    return this.#track(this.#read(fn, BEGIN));
  }

  /** The same for a read that may take long: no statement of it takes longer than the limit. */
  runSlow<T>(fn: (tx: ReadTx) => Promise<T>, limit: SlowReadLimit): Promise<T> {
    return this.#track(
      this.#read(fn, beginSlow(limit.timeoutMs)).catch((error: unknown) => {
        throw isCancelled(error) ? new GatewayError('invalid_request', limit.tooSlow) : error;
      }),
    );
  }

  #track<T>(result: Promise<T>): Promise<T> {
    const ended: Promise<unknown> = result.catch(() => {}).then(() => this.#running.delete(ended));
    this.#running.add(ended);
    return result;
  }

  /** Resolves when no read is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #read<T>(fn: (tx: ReadTx) => Promise<T>, begin: string): Promise<T> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw toStoreError(error, this.#options.place);
    });
    const connection = new PgConnection(client, this.#options);
    try {
      await connection.script(begin);
      const unit = new SqlUnit(connection, postgresDialect, 0);
      try {
        return await fn(new SqlTx(unit, new GraphileJobs(unit)));
      } finally {
        unit.end();
      }
    } finally {
      if (!connection.isBroken) await connection.script('rollback').catch(() => {});
      client.release(connection.isBroken);
    }
  }
}

function isCancelled(error: unknown): boolean {
  return error instanceof GatewayError && error.details?.['sqlState'] === CANCELLED;
}
