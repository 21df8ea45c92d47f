import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../protocol/errors.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import { makeFolder } from '../../util/make-folder.ts';
import type { ReadTx, SlowReadLimit, Store, StoreSignal, WriteTx } from '../store.ts';
import { createPrivate, publish, removeDatabase } from './copy-database.ts';
import { migrate } from './migrate.ts';
import { ReadQueue } from './read-queue.ts';
import { SlowReader } from './slow-reader.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { WriteQueue } from './write-queue.ts';

export interface SqliteStoreOptions {
  /** the database file; made, with its folder, when it does not exist */
  path: string;
  clock: Clock;
  logger: Logger;
  /** named in the log */
  bootId?: string;
}

/**
 * Opens the store in a SQLite file and brings its schema up to date.
 * Throws `unavailable` when the file cannot be used, `config` when a newer Trunkline has written it.
 */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { path, clock, logger } = options;
  createPrivateFile(path);
  const writer = new SqliteConnection(path, { readOnly: false });
  try {
    prepareWriter(writer);
    const applied = migrate(writer, clock);
    const reader = new SqliteConnection(path, { readOnly: true });
    logger.info({ path, bootId: options.bootId, migrations: applied }, 'store opened');
    return new SqliteStore({ writer, reader, clock, logger });
  } catch (error) {
    writer.close();
    throw error;
  }
}

/**
 * Transcripts are nobody else's business; the log and index files beside it take over the mode. The
 * file comes into its place with a header: one without a byte has lost its content (BR-087).
 */
function createPrivateFile(path: string): void {
  try {
    makeFolder(dirname(path), { mode: 0o700 });
    if (existsSync(path)) return refuseEmpty(path);
    const fresh = `${path}.new`;
    removeDatabase(fresh);
    createPrivate(fresh);
    const db = new DatabaseSync(fresh);
    db.exec('pragma journal_mode = wal');
    db.close();
    publish(fresh, path);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new GatewayError('unavailable', `the store ${path} cannot be opened: ${reason}`, {
      cause: error,
    });
  }
}

/** SQLite takes an empty file for a new database: the sessions would be gone without a word. */
function refuseEmpty(path: string): void {
  if (statSync(path).size > 0) return;
  const beside = readdirSync(dirname(path)).filter((name) =>
    name.startsWith(`${basename(path)}.before-`),
  );
  const copies = beside.length === 0 ? '' : `; beside it lie ${beside.sort().join(', ')}`;
  throw new GatewayError(
    'unavailable',
    `the store ${path} has 0 bytes, its content is lost; ` +
      `go back to a backup with "trunkline restore FILE", or remove the file to start anew${copies}`,
  );
}

function prepareWriter(writer: SqliteConnection): void {
  const mode = writer.run('pragma journal_mode = wal').rows[0]?.['journal_mode'];
  if (mode !== 'wal') {
    throw new GatewayError(
      'unavailable',
      `the store ${writer.path} cannot use a write-ahead log; put the state directory on a local disk`,
    );
  }
  writer.run('pragma synchronous = full');
}

/** The store over its connections: one writes, others read what is committed. */
export class SqliteStore implements Store {
  readonly #writer: SqliteConnection;
  readonly #reader: SqliteConnection;
  readonly #logger: Logger;
  readonly #writes: WriteQueue;
  readonly #reads: ReadQueue;
  readonly #slowReads: SlowReader;
  readonly #listeners = new Set<(signal: StoreSignal) => void>();
  #closed: Promise<void> | undefined;

  constructor(parts: {
    writer: SqliteConnection;
    reader: SqliteConnection;
    clock: Clock;
    logger: Logger;
  }) {
    this.#writer = parts.writer;
    this.#reader = parts.reader;
    this.#logger = parts.logger;
    this.#reads = new ReadQueue(parts.reader);
    this.#slowReads = new SlowReader(parts.reader.path);
    this.#writes = new WriteQueue(parts.writer, {
      clock: parts.clock,
      logger: parts.logger,
      publish: (signals) => this.#publish(signals),
    });
  }

  async read<T>(fn: (tx: ReadTx) => Promise<T>, slow?: SlowReadLimit): Promise<T> {
    this.#mustBeOpen();
    return slow === undefined ? this.#reads.add(fn) : this.#slowReads.run(fn, slow);
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
    await this.#slowReads.close();
    // the writer last: it can fold the log into the file, a reader cannot
    this.#reader.close();
    this.#writer.close();
  }

  #mustBeOpen(): void {
    if (this.#closed === undefined) return;
    throw new GatewayError('unavailable', 'the store is closed; the gateway is shutting down');
  }

  #publish(signals: readonly StoreSignal[]): void {
    const distinct = new Map(signals.map((signal) => [JSON.stringify(signal), signal]));
    for (const signal of distinct.values()) {
      for (const listener of this.#listeners) {
        try {
          listener(signal);
        } catch (error) {
          this.#logger.error({ err: error, signal }, 'a listener of the store failed');
        }
      }
    }
  }
}
