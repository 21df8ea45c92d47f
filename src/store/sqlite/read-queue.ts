import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import type { ReadTx } from '../store.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** So long at most, or one read, the event loop is held. */
const LONGEST_TURN_MS = 5;

/**
 * Reads on a connection that cannot write, one snapshot after another. A pool would gain nothing:
 * a read awaits only its tx, so it never gives up the thread in the middle.
 */
export class ReadQueue {
  readonly #connection: SqliteConnection;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** monotonic time at which the event loop last had its turn */
  #gaveWayAt = 0;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  add<T>(fn: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (this.#waiting === 0) this.#gaveWayAt = performance.now();
    this.#waiting += 1;
    const result = this.#last.then(() => this.#run(fn));
    this.#last = result
      .catch(() => {})
      .finally(() => {
        this.#waiting -= 1;
      });
    return result;
  }

  /** Reads are synchronous: without a pause, those that wait would keep timers, sockets and signals waiting too. */
  async #giveWay(): Promise<void> {
    if (performance.now() - this.#gaveWayAt < LONGEST_TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#gaveWayAt = performance.now();
  }

  /** Resolves when no read waits. */
  async idle(): Promise<void> {
    await this.#last;
  }

  async #run<T>(fn: (tx: ReadTx) => Promise<T>): Promise<T> {
    await this.#giveWay();
    const unit = new SqlUnit(this.#connection, sqliteDialect, 0);
    this.#connection.run('begin deferred');
    try {
      return await fn(new SqlTx(unit));
    } finally {
      unit.end();
      if (this.#connection.isInTransaction) this.#connection.run('commit');
    }
  }
}
