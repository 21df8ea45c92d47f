import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { GatewayError } from '../../protocol/errors.ts';
import type { Logger } from '../../util/logger.ts';
import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import type { StoreSignal } from '../store.ts';
import { GraphileJobs } from './graphile-jobs.ts';
import { BY_INDEX, PgConnection } from './pg-connection.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { isConflict, toStoreError } from './to-store-error.ts';

/** So often a unit runs at most; from the second time on it runs alone, so that it gets through. */
const MAX_ATTEMPTS = 8;
const LONGEST_PAUSE_MS = 500;

/**
 * The lock is taken before the snapshot is. Of its modes the first admits others in it and the
 * second nobody: a unit that did not fit to others waits for those that run and then runs alone.
 * A gateway that is paused in a transaction holds its locks: the server ends its session before the
 * lease is over.
 */
function beginOf(attempt: number): string {
  return `begin isolation level serializable;
set local lock_timeout = '9s';
set local idle_in_transaction_session_timeout = '8s';
${BY_INDEX};
lock table schema_version in ${attempt === 1 ? 'row share' : 'exclusive'} mode;
select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now`;
}

type Run<T> = (tx: SqlTx, unit: SqlUnit) => Promise<T>;
type Outcome<T> =
  | { kind: 'committed'; value: T; signals: readonly StoreSignal[] }
  /** nothing was written; the unit may run again */
  | { kind: 'again'; error: unknown };

/**
 * The one writer of this gateway: units run one after another, in the order of the calls, as on
 * SQLite; what other gateways write meanwhile is kept apart by serialisable transactions, and a unit
 * that did not fit runs again.
 */
export class WriteQueue {
  readonly #pool: pg.Pool;
  readonly #place: string;
  readonly #isPrepared: boolean;
  readonly #logger: Logger;
  readonly #publish: (signals: readonly StoreSignal[]) => void;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    pool: pg.Pool,
    options: {
      place: string;
      /** statements are prepared once per connection; not through a transaction pooler */
      isPrepared: boolean;
      logger: Logger;
      /** Told the signals of each commit, after it. */
      publish(signals: readonly StoreSignal[]): void;
    },
  ) {
    this.#pool = pool;
    this.#place = options.place;
    this.#isPrepared = options.isPrepared;
    this.#logger = options.logger;
    this.#publish = options.publish;
  }

  add<T>(name: string, run: Run<T>): Promise<T> {
    const result = this.#last.then(() => this.#perform(name, run));
    this.#last = result.catch(() => {});
    return result;
  }

  /** Resolves when no unit waits. */
  async idle(): Promise<void> {
    await this.#last;
  }

  async #perform<T>(name: string, run: Run<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt({ name, attempt }, run);
      if (outcome.kind === 'committed') {
        this.#publish(outcome.signals);
        return outcome.value;
      }
      if (attempt === MAX_ATTEMPTS) throw this.#givenUp(name, outcome.error);
      this.#logger.debug({ unit: name, attempt, err: outcome.error }, 'unit runs again');
      if (attempt > 1) await delay(Math.random() * Math.min(LONGEST_PAUSE_MS, 2 ** (attempt + 2)));
    }
  }

  /** Rejects with what the unit itself rejected with, or when the database cannot be used. */
  async #attempt<T>(
    { name, attempt }: { name: string; attempt: number },
    run: Run<T>,
  ): Promise<Outcome<T>> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw toStoreError(error, this.#place);
    });
    const connection = new PgConnection(client, {
      place: this.#place,
      isPrepared: this.#isPrepared,
    });
    const progress = { isCommitting: false };
    try {
      return await this.#transact(connection, { begin: beginOf(attempt), run, progress });
    } catch (error) {
      await rollBack(connection);
      const { failure, isBroken } = connection;
      if (connection.isConflict) return { kind: 'again', error: failure };
      if (isBroken && progress.isCommitting) throw unknownOutcome(name, this.#place, failure);
      if (isBroken) return { kind: 'again', error };
      throw error;
    } finally {
      client.release(connection.isBroken);
    }
  }

  async #transact<T>(
    connection: PgConnection,
    { begin, run, progress }: { begin: string; run: Run<T>; progress: { isCommitting: boolean } },
  ): Promise<Outcome<T>> {
    const { rows } = await connection.script(begin);
    const unit = new SqlUnit(connection, postgresDialect, Number(rows[0]?.['now']));
    const tx = new SqlTx(unit, new GraphileJobs(unit));
    let value: T;
    try {
      value = await run(tx, unit);
    } finally {
      unit.end();
    }
    // A unit that caught the failure of a statement must not count as done: Postgres did nothing.
    if (connection.failure !== undefined) throw connection.failure;
    progress.isCommitting = true;
    await connection.script('commit');
    return { kind: 'committed', value, signals: tx.signals };
  }

  #givenUp(name: string, error: unknown): unknown {
    if (!isConflict(error)) return error;
    return new GatewayError(
      'unavailable',
      `the store ${this.#place} is too busy: ${name} met other writers ${MAX_ATTEMPTS} times; try again`,
      { cause: error },
    );
  }
}

async function rollBack(connection: PgConnection): Promise<void> {
  if (connection.isBroken) return;
  await connection.script('rollback').catch(() => {});
}

function unknownOutcome(name: string, place: string, cause: unknown): GatewayError {
  return new GatewayError(
    'unavailable',
    `the store ${place} broke off while ${name} was committed: it may have been stored or not; ask again under the same key`,
    { cause },
  );
}
