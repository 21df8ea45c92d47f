import type pg from 'pg';
import type { SqlConnection, SqlResult, SqlValue } from '../sql/connection.ts';
import { isConflict, isConnectionLoss, toStoreError } from './to-store-error.ts';

/** What runs statements: a client of a pool or one of its own. */
export type PgClient = Pick<pg.ClientBase, 'query'>;

/**
 * Every query of ours searches an index in its order. A young or small table would be scanned whole
 * all the same, and in a serialisable transaction each write to it is a conflict then.
 */
export const BY_INDEX = 'set local enable_seqscan = off;\nset local enable_bitmapscan = off';

const names = new Map<string, string>();

/** The same text has the same name everywhere: the server plans it once per connection. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `trunkline ${names.size + 1}`;
    names.set(text, name);
  }
  return name;
}

/** One connection for the time of one transaction; remembers what went wrong in it. */
export class PgConnection implements SqlConnection {
  readonly #client: PgClient;
  readonly #place: string;
  readonly #isPrepared: boolean;
  #last: Promise<unknown> = Promise.resolve();
  #failure: unknown;
  #isBroken = false;
  #isConflict = false;

  constructor(client: PgClient, options: { place: string; isPrepared: boolean }) {
    this.#client = client;
    this.#place = options.place;
    this.#isPrepared = options.isPrepared;
  }

  /** the first failure; Postgres does nothing more in this transaction */
  get failure(): unknown {
    return this.#failure;
  }

  /** The connection must not be used again. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** The transaction did not fit to another one and may run again. */
  get isConflict(): boolean {
    return this.#isConflict;
  }

  async query(text: string, params: readonly SqlValue[]): Promise<SqlResult> {
    const values = [...params];
    const result = await this.#run(() =>
      this.#client.query<Record<string, unknown>>(
        this.#isPrepared ? { name: nameOf(text), text, values } : { text, values },
      ),
    );
    return { rows: result.rows, changes: result.rowCount ?? 0 };
  }

  /** Runs statements without parameters in one round trip; returns the last one's result. */
  async script(text: string): Promise<pg.QueryResult<Record<string, unknown>>> {
    const results = (await this.#run(() => this.#client.query(text))) as unknown as
      | pg.QueryResult<Record<string, unknown>>
      | pg.QueryResult<Record<string, unknown>>[];
    const last = Array.isArray(results) ? results.at(-1) : results;
    if (last === undefined) throw new Error('no statement');
    return last;
  }

  /** One after another: a unit may ask for several things at once, a connection does one. */
  #run<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => this.#watch(run));
    this.#last = result.catch(() => {});
    return result;
  }

  async #watch<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      this.#failure ??= error;
      this.#isConflict ||= isConflict(error);
      this.#isBroken ||= isConnectionLoss(error);
      throw toStoreError(error, this.#place);
    }
  }
}
