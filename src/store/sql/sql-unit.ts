import { GatewayError } from '../../protocol/errors.ts';
import { assert } from '../../util/assert.ts';
import type { SqlConnection, SqlResult, SqlValue } from './connection.ts';
import type { SqlDialect } from './dialect.ts';
import { insertQuery, type Query, updateQuery } from './query.ts';
import type { Rows } from './tables.ts';

/** One transaction's view of a connection: runs queries until it is ended. */
export class SqlUnit {
  readonly dialect: SqlDialect;
  /** epoch milliseconds at the start of the unit */
  readonly now: number;
  readonly #connection: SqlConnection;
  #hasEnded = false;

  constructor(connection: SqlConnection, dialect: SqlDialect, now: number) {
    this.#connection = connection;
    this.dialect = dialect;
    this.now = now;
  }

  /** After this a call that its unit forgot to await fails instead of writing into the next unit. */
  end(): void {
    this.#hasEnded = true;
  }

  async all<P extends object, Row>(query: Query<P, Row>, params: P): Promise<Row[]> {
    return query.toRows((await this.#run(query, params)).rows);
  }

  async first<P extends object, Row>(query: Query<P, Row>, params: P): Promise<Row | undefined> {
    return query.toRows((await this.#run(query, params)).rows)[0];
  }

  /** Returns how many rows changed. */
  async change<P extends object>(query: Query<P, unknown>, params: P): Promise<number> {
    return (await this.#run(query, params)).changes;
  }

  async insert<T extends keyof Rows>(table: T, row: Rows[T]): Promise<void> {
    await this.change(insertQuery(table, Object.keys(row), 'fail'), row);
  }

  /** Returns false and adds nothing when a unique column already has this value. */
  async insertNew<T extends keyof Rows>(table: T, row: Rows[T]): Promise<boolean> {
    return (await this.change(insertQuery(table, Object.keys(row), 'skip'), row)) === 1;
  }

  /**
   * Changes the named columns of the one row with this key.
   * Rejects `not_found` when it does not exist, so that no change is lost in silence.
   */
  async update<T extends keyof Rows>(
    table: T,
    key: { name: keyof Rows[T] & string; value: string },
    patch: Partial<Rows[T]>,
  ): Promise<void> {
    const properties = Object.keys(patch);
    if (properties.length === 0) return;
    assert(!properties.includes(key.name), `${table}.${key.name} cannot be changed`);
    const query = updateQuery(table, { key: key.name, properties });
    const changes = await this.change(query, { ...patch, [key.name]: key.value });
    if (changes === 0) throw noRow(table, key);
  }

  /** The same, and returns a column of the changed row; `patch` has at least one member. */
  async updateReading<T extends keyof Rows, C extends keyof Rows[T] & string>(
    table: T,
    {
      key,
      patch,
      column,
    }: {
      key: { name: keyof Rows[T] & string; value: string };
      patch: Partial<Rows[T]>;
      column: C;
    },
  ): Promise<Rows[T][C]> {
    const properties = Object.keys(patch);
    const query = updateQuery(table, { key: key.name, properties, column });
    const row = await this.first(query, { ...patch, [key.name]: key.value });
    if (row === undefined) throw noRow(table, key);
    return row[column] as Rows[T][C];
  }

  /** Runs a statement that only one kind of database knows. */
  raw(sql: string, params: readonly SqlValue[]): Promise<SqlResult> {
    this.#mustBeOpen();
    return this.#connection.query(sql, params);
  }

  #run<P extends object>(query: Query<P, unknown>, params: P): Promise<SqlResult> {
    this.#mustBeOpen();
    const { sql, values } = query.bind(this.dialect, params);
    return this.#connection.query(sql, values);
  }

  #mustBeOpen(): void {
    assert(!this.#hasEnded, 'a tx was used after its unit had ended; await every call in the unit');
  }
}

function noRow(table: string, { name, value }: { name: string; value: string }): GatewayError {
  return new GatewayError('not_found', `${table}: there is no row ${name} ${value}`);
}
