import type { SqlStatement } from '../sql/sql-steps.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

/** Runs statements in order, and gives each its rows before the next is asked for. */
export function runSteps(connection: SqliteConnection, steps: Iterable<SqlStatement>): void {
  const each = steps[Symbol.iterator]() as Iterator<SqlStatement, void, Record<string, unknown>[]>;
  let next = each.next([]);
  while (next.done !== true) {
    next = each.next(connection.run(next.value.sql, next.value.params).rows);
  }
}
