import pg from 'pg';
import { GatewayError } from '../../protocol/errors.ts';
import type { Logger } from '../../util/logger.ts';
import type { ReadTx, SharedStore, SlowReadLimit, Store, StoreSignal, WriteTx } from '../store.ts';
import { connectOptions, createPool, longConnectOptions, placeOf } from './connect-options.ts';
import { findPooler, refuseTransactionPooler } from './find-pooler.ts';
import { createJobWorker, migrateJobs } from './job-worker.ts';
import { Membership } from './membership.ts';
import { migrate } from './migrate.ts';
import { Notifier } from './notifier.ts';
import { PgConnection } from './pg-connection.ts';
import { ReadPool } from './read-pool.ts';
import { takeOver } from './take-over.ts';
import { toStoreError } from './to-store-error.ts';
import { WriteQueue } from './write-queue.ts';

export interface PostgresStoreOptions {
  /** `postgres://…`; may lead through a pooler when `directUrl` is given */
  url: string;
  /** leads to the database itself: for lock, notifications and migrations */
  directUrl?: string | undefined;
  logger: Logger;
  /** names this gateway among those on the same database */
  bootId: string;
  /** how often this gateway looks for work without an owner; a second when it is not given */
  sweepEveryMs?: number | undefined;
}

const MAX_READERS = 8;
/** A migration takes its time, but waits for nobody without an end. */
const WAIT_FOR_LOCKS = `set lock_timeout = '20s'`;

/**
 * Opens the store in a Postgres database, brings its schema up to date and joins its gateways.
 * Rejects `unavailable` when the database cannot be used, `config` when a newer Trunkline has
 * written it or a transaction pooler is in the way. The password is in none of its texts.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, logger, bootId } = options;
  const directUrl = options.directUrl ?? url;
  const place = placeOf(directUrl);
  const applied = await prepareDatabase(directUrl, { place, logger });
  const isPrepared = directUrl === url || !(await isPooled(url));
  const writers = createPool(url, 1);
  const readers = createPool(url, MAX_READERS);
  const store = new PostgresStore({ ...options, directUrl, place, isPrepared, writers, readers });
  try {
    await store.join();
  } catch (error) {
    await store.close();
    throw error;
  }
  logger.info({ place, bootId, migrations: applied }, 'store opened');
  return store;
}

async function prepareDatabase(
  url: string,
  { place, logger }: { place: string; logger: Logger },
): Promise<number> {
  const client = new pg.Client(longConnectOptions(url));
  client.on('error', () => {});
  try {
    await client.connect();
    await refuseTransactionPooler(client, { url, place });
    const connection = new PgConnection(client, { place, isPrepared: false });
    await connection.script(WAIT_FOR_LOCKS);
    return await migrate(connection, { place, alsoUnderLock: () => migrateJobs(url, logger) });
  } catch (error) {
    throw toStoreError(error, place);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Whether statements must be sent without being prepared. */
async function isPooled(url: string): Promise<boolean> {
  const client = new pg.Client(connectOptions(url));
  client.on('error', () => {});
  try {
    await client.connect();
    return (await findPooler(client, url)) !== undefined;
  } catch (error) {
    throw toStoreError(error, placeOf(url));
  } finally {
    await client.end().catch(() => {});
  }
}

interface Parts extends PostgresStoreOptions {
  directUrl: string;
  place: string;
  isPrepared: boolean;
  writers: pg.Pool;
  readers: pg.Pool;
}

class PostgresStore implements Store {
  readonly shared: SharedStore;
  readonly #parts: Parts;
  readonly #writes: WriteQueue;
  readonly #reads: ReadPool;
  readonly #notifier: Notifier;
  readonly #membership: Membership;
  readonly #listeners = new Set<(signal: StoreSignal) => void>();
  readonly #remoteListeners = new Set<(signal: StoreSignal) => void>();
  #closed: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { logger, place, bootId: id, isPrepared, directUrl } = parts;
    this.#parts = parts;
    this.#reads = new ReadPool(parts.readers, { place, isPrepared });
    this.#notifier = new Notifier(parts.readers, { id, logger });
    this.#writes = new WriteQueue(parts.writers, {
      place,
      isPrepared,
      logger,
      publish: (signals) => {
        this.#publish(signals);
        this.#notifier.add(signals);
      },
    });
    this.#membership = new Membership({
      url: directUrl,
      place,
      id,
      logger,
      sweepEveryMs: parts.sweepEveryMs,
      publish: (signals) => this.#publish(signals),
      onRemote: (signals) => {
        this.#publish(signals);
        this.#tell(signals, this.#remoteListeners);
      },
      takeOver: () => takeOver(this.#writes, { id, logger }),
    });
    this.shared = {
      clock: this.#membership.clock,
      onRemoteSignal: (listener) => {
        this.#remoteListeners.add(listener);
        return () => this.#remoteListeners.delete(listener);
      },
      createJobRunner: (handlers) =>
        createJobWorker({
          url: directUrl,
          store: this,
          clock: this.#membership.clock,
          logger,
          handlers,
          onWorker: (workerId) => this.#membership.setWorker(workerId),
        }),
      holdsLease: () => this.#membership.holdsLease(),
      onLost: (listener) => this.#membership.onLost(listener),
    };
  }

  join(): Promise<void> {
    return this.#membership.join();
  }

  async read<T>(fn: (tx: ReadTx) => Promise<T>, slow?: SlowReadLimit): Promise<T> {
    this.#mustBeOpen();
    return slow === undefined ? this.#reads.run(fn) : this.#reads.runSlow(fn, slow);
  }

  async write<T>(unit: string, fn: (tx: WriteTx) => Promise<T>): Promise<T> {
    this.#mustBeOpen();
    return this.#writes.add(unit, fn);
  }

  onSignal(listener: (signal: StoreSignal) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closed ??= this.#finish();
    return this.#closed;
  }

  async #finish(): Promise<void> {
    await this.#writes.idle();
    await this.#reads.idle();
    await this.#notifier.close();
    // last: what was written until now was written by a gateway that is alive
    await this.#membership.leave();
    await this.#parts.writers.end();
    await this.#parts.readers.end();
  }

  #mustBeOpen(): void {
    if (this.#closed === undefined) return;
    throw new GatewayError('unavailable', 'the store is closed; the gateway is shutting down');
  }

  #publish(signals: readonly StoreSignal[]): void {
    this.#tell(signals, this.#listeners);
  }

  #tell(
    signals: readonly StoreSignal[],
    listeners: ReadonlySet<(signal: StoreSignal) => void>,
  ): void {
    const distinct = new Map(signals.map((signal) => [JSON.stringify(signal), signal]));
    for (const signal of distinct.values()) {
      for (const listener of listeners) {
        try {
          listener(signal);
        } catch (error) {
          this.#parts.logger.error({ err: error, signal }, 'a listener of the store failed');
        }
      }
    }
  }
}
