import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import type { SqlConnection } from '../sql/connection.ts';
import type { ReadTx } from '../store.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** So long at most, or one query, the event loop is held. */
const LONGEST_TURN_MS = 5;

/**
 * Reads on a connection that cannot write, one snapshot after another. A read of many queries gives
 * way between them; its snapshot stays, and the reads behind it wait.
 */
export class ReadQueue {
  readonly #connection: SqliteConnection;
  readonly #monotonic: () => number;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** monotonic time at which the event loop last had its turn */
  #gaveWayAt = 0;

  /** `monotonic`: time in ms that never goes back */
  constructor(connection: SqliteConnection, monotonic = () => performance.now()) {
    this.#connection = connection;
    this.#monotonic = monotonic;
  }

  add<T>(fn: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (this.#waiting === 0) this.#gaveWayAt = this.#monotonic();
    this.#waiting += 1;
    const result = this.#last.then(() => this.#run(fn));
    this.#last = result
      .catch(() => {})
      .finally(() => {
        this.#waiting -= 1;
      });
    return result;
  }

  /** Queries are synchronous: without a pause, those that wait would keep timers, sockets and signals waiting too. */
  async #giveWay(): Promise<void> {
    if (this.#monotonic() - this.#gaveWayAt < LONGEST_TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#gaveWayAt = this.#monotonic();
  }

  /** Resolves when no read waits. */
  async idle(): Promise<void> {
    await this.#last;
  }

  async #run<T>(fn: (tx: ReadTx) => Promise<T>): Promise<T> {
    const giving: SqlConnection = {
      query: async (sql, params) => {
        await this.#giveWay();
        return this.#connection.query(sql, params);
      },
    };
    const unit = new SqlUnit(giving, sqliteDialect, 0);
    this.#connection.run('begin deferred');
    try {
      return await fn(new SqlTx(unit));
    } finally {
      unit.end();
      if (this.#connection.isInTransaction) this.#connection.run('commit');
    }
  }
}
