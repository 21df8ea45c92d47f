import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import type { ReadTx } from '../store.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/**
 * Reads on a connection that cannot write, one snapshot after another. A pool would gain nothing:
 * a read awaits only its tx, so it never gives up the thread in the middle.
 */
export class ReadQueue {
  readonly #connection: SqliteConnection;
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  add<T>(fn: (tx: ReadTx) => Promise<T>): Promise<T> {
    const result = this.#last.then(() => this.#run(fn));
    this.#last = result.catch(() => {});
    return result;
  }

  /** Resolves when no read waits. */
  async idle(): Promise<void> {
    await this.#last;
  }

  async #run<T>(fn: (tx: ReadTx) => Promise<T>): Promise<T> {
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
