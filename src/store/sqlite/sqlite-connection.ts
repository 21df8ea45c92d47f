import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { SqlConnection, SqlResult, SqlValue } from '../sql/connection.ts';
import { assert } from '../../util/assert.ts';
import { toStoreError } from './to-store-error.ts';

interface Prepared {
  statement: StatementSync;
  returnsRows: boolean;
}

const BUSY_TIMEOUT_MS = 5000;

/** SQLite keeps integers that JavaScript cannot read back: one of them would close its row for ever. */
function mustBeReadable(value: SqlValue): void {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return;
  assert(Number.isFinite(value) && !Number.isInteger(value), `number ${value} is not exact`);
}

/** One connection to a database file, with its statements prepared once per text. */
export class SqliteConnection implements SqlConnection {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  constructor(path: string, options: { readOnly: boolean }) {
    this.path = path;
    try {
      this.#db = new DatabaseSync(path, { readOnly: options.readOnly, timeout: BUSY_TIMEOUT_MS });
    } catch (error) {
      throw toStoreError(error, path);
    }
  }

  get isInTransaction(): boolean {
    return this.#db.isTransaction;
  }

  // async so that a failing statement is a rejection
  async query(sql: string, params: readonly SqlValue[]): Promise<SqlResult> {
    return this.run(sql, params);
  }

  /** The same at once: for opening and for the borders of transactions. */
  run(sql: string, params: readonly SqlValue[] = []): SqlResult {
    params.forEach(mustBeReadable);
    try {
      const { statement, returnsRows } = this.#prepare(sql);
      if (returnsRows) {
        const rows = statement.all(...params);
        return { rows, changes: rows.length };
      }
      return { rows: [], changes: Number(statement.run(...params).changes) };
    } catch (error) {
      throw toStoreError(error, this.path);
    }
  }

  close(): void {
    this.#prepared.clear();
    this.#db.close();
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      const statement = this.#db.prepare(sql);
      prepared = { statement, returnsRows: statement.columns().length > 0 };
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }
}
