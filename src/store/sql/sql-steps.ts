import type { SqlValue } from './connection.ts';

export interface SqlStatement {
  sql: string;
  params: readonly SqlValue[];
}

/**
 * Statements that depend on the rows of earlier ones: each is yielded to whoever has the connection and
 * gets its rows. So the same steps serve a driver that answers at once and one that answers later.
 */
export type SqlSteps = Generator<SqlStatement, void, Record<string, unknown>[]>;
