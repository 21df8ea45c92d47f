import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import type { StoreSignal, WriteTx } from '../store.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** So many units share a commit at most; the event loop is held for as long as a group takes. */
const GROUP_SIZE = 64;

interface WaitingUnit {
  name: string;
  run(tx: WriteTx): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Done {
  unit: WaitingUnit;
  value: unknown;
  signals: readonly StoreSignal[];
}

/** The one writer. Units that wait together share one transaction. */
export class WriteQueue {
  readonly #connection: SqliteConnection;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #publish: (signals: readonly StoreSignal[]) => void;
  #waiting: WaitingUnit[] = [];
  #draining: Promise<void> | undefined;

  constructor(
    connection: SqliteConnection,
    options: {
      clock: Clock;
      logger: Logger;
      /** Told the signals of each commit, after it. */
      publish(signals: readonly StoreSignal[]): void;
    },
  ) {
    this.#connection = connection;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#publish = options.publish;
  }

  add<T>(name: string, fn: (tx: WriteTx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ name, run: fn, resolve: (value) => resolve(value as T), reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when no unit waits. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // one turn of the event loop: whoever the last commit answered may join the next group
      await new Promise((resolve) => setImmediate(resolve));
      const group = this.#waiting.splice(0, GROUP_SIZE);
      if (!(await this.#commitTogether(group))) await this.#replay(group);
    }
    this.#draining = undefined;
  }

  /** Returns false, with nothing changed and nobody told, when a group of several units failed. */
  async #commitTogether(group: readonly WaitingUnit[]): Promise<boolean> {
    const done: Done[] = [];
    try {
      this.#connection.run('begin immediate');
      for (const unit of group) done.push(await this.#runUnit(unit));
      this.#connection.run('commit');
    } catch (error) {
      this.#rollback();
      if (group.length > 1) return false;
      group[0]?.reject(error);
      return true;
    }
    this.#logger.debug({ units: group.length }, 'committed');
    for (const { unit, value } of done) unit.resolve(value);
    this.#publish(done.flatMap(({ signals }) => signals));
    return true;
  }

  /** Each in a transaction of its own, so that only the failing one is rejected. */
  async #replay(group: readonly WaitingUnit[]): Promise<void> {
    this.#logger.debug({ units: group.map(({ name }) => name) }, 'group rolled back, replaying');
    for (const unit of group) await this.#commitTogether([unit]);
  }

  async #runUnit(unit: WaitingUnit): Promise<Done> {
    const sqlUnit = new SqlUnit(this.#connection, sqliteDialect, this.#clock.now());
    const tx = new SqlTx(sqlUnit);
    try {
      const value = await unit.run(tx);
      return { unit, value, signals: tx.signals };
    } finally {
      sqlUnit.end();
    }
  }

  #rollback(): void {
    // after a full disk or an I/O error SQLite has rolled back by itself
    if (!this.#connection.isInTransaction) return;
    try {
      this.#connection.run('rollback');
    } catch (error) {
      this.#logger.error({ err: error }, 'rollback failed');
    }
  }
}
