/**
 * Queries that are built and compiled once per dialect, and run with values.
 */
import { type Compilable, type RawBuilder, sql } from 'kysely';
import { must } from '../../util/assert.ts';
import { cleanText } from './clean-text.ts';
import type { SqlValue } from './connection.ts';
import type { SqlDialect } from './dialect.ts';
import { createRowMapper, type RowOf, type Rows, toColumn } from './tables.ts';

/** Stands for a parameter while a query is built, and is replaced by its value at each run. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

const slots = new Proxy(
  {},
  { get: (_target, name) => (typeof name === 'string' ? new Slot(name) : undefined) },
);

type NamedValues = Readonly<Record<string, unknown>>;

interface Compiled {
  sql: string;
  parameters: readonly unknown[];
}

/** A query with named parameters `P` whose records are rows `Row`. */
export class Query<P extends object, Row> {
  readonly #build: (dialect: SqlDialect, params: P) => Compiled;
  readonly #compiled = new Map<SqlDialect, Compiled>();
  #toRow: ((record: Record<string, unknown>) => Record<string, unknown>) | undefined;

  constructor(build: (dialect: SqlDialect, params: P) => Compiled) {
    this.#build = build;
  }

  bind(dialect: SqlDialect, params: P): { sql: string; values: SqlValue[] } {
    let compiled = this.#compiled.get(dialect);
    if (compiled === undefined) {
      compiled = this.#build(dialect, slots as P);
      this.#compiled.set(dialect, compiled);
    }
    const given = params as NamedValues;
    const values = compiled.parameters.map((parameter) =>
      parameter instanceof Slot
        ? toSqlValue(parameter.name, given[parameter.name])
        : constant(parameter),
    );
    return { sql: compiled.sql, values };
  }

  toRows(records: Record<string, unknown>[]): Row[] {
    const first = records[0];
    if (first === undefined) return [];
    this.#toRow ??= createRowMapper(Object.keys(first));
    return records.map(this.#toRow) as Row[];
  }
}

/**
 * Defines a query. `build` is called once per dialect; the members of `p` may be used wherever the
 * builder takes a value, and nowhere else.
 */
export function defineQuery<P extends object, O>(
  build: (db: SqlDialect['db'], p: P, dialect: SqlDialect) => Compilable<O>,
): Query<P, RowOf<O>> {
  return new Query((dialect, p) => build(dialect.db, p, dialect).compile());
}

/** The same for SQL that the builder does not know; `p` as above, its records are rows `Row`. */
export function defineSql<P extends object, Row>(
  build: (p: P, dialect: SqlDialect) => RawBuilder<unknown>,
): Query<P, Row> {
  return new Query((dialect, p) => build(p, dialect).compile(dialect.db));
}

/** Returns a function that makes a value per name once and keeps it. */
export function keyed<K extends string, V>(make: (name: K) => V): (name: K) => V {
  const made = new Map<K, V>();
  return (name) => {
    let value = made.get(name);
    if (value === undefined) {
      value = make(name);
      made.set(name, value);
    }
    return value;
  };
}

const insertQueries = keyed((shape) => {
  const [table, conflict, ...properties] = shape.split(' ');
  const columns = sql.join(properties.map((name) => sql.ref(toColumn(name))));
  const ending = sql.raw(conflict === 'skip' ? ' on conflict do nothing' : '');
  return new Query<object, never>((dialect, p) => {
    const values = sql.join(properties.map((name) => (p as NamedValues)[name]));
    return sql`insert into ${sql.table(must(table, 'table'))} (${columns}) values (${values})${ending}`.compile(
      dialect.db,
    );
  });
});

/** The insertion of a row by its own properties, compiled once per shape. */
export function insertQuery(
  table: keyof Rows,
  properties: readonly string[],
  conflict: 'fail' | 'skip',
): Query<object, never> {
  return insertQueries(`${table} ${conflict} ${properties.join(' ')}`);
}

const updateQueries = keyed((shape) => {
  const [table, key, column, ...properties] = shape.split(' ');
  return new Query<object, Record<string, unknown>>((dialect, p) => {
    const returning = sql.raw(
      column === '' ? '' : ` returning ${toColumn(must(column, 'column'))}`,
    );
    const isValue = (name: string) => sql`${sql.ref(toColumn(name))} = ${(p as NamedValues)[name]}`;
    const changes = sql.join(properties.map(isValue));
    const condition = isValue(must(key, 'key'));
    return sql`update ${sql.table(must(table, 'table'))} set ${changes} where ${condition}${returning}`.compile(
      dialect.db,
    );
  });
});

/** The change of some columns of one row, compiled once per shape; answers with one column when it is named. */
export function updateQuery(
  table: keyof Rows,
  { key, properties, column = '' }: { key: string; properties: readonly string[]; column?: string },
): Query<object, Record<string, unknown>> {
  return updateQueries(`${table} ${key} ${column} ${properties.join(' ')}`);
}

function constant(value: unknown): SqlValue {
  return toSqlValue('constant', value);
}

function toSqlValue(name: string, value: unknown): SqlValue {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'number' || value === null) return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  throw new Error(`no value for "${name}": ${typeof value}`);
}
