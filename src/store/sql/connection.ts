/** A value that a driver can bind. */
export type SqlValue = string | number | null;

export interface SqlResult {
  rows: Record<string, unknown>[];
  /** rows changed by a statement that returns none, else the number of rows */
  changes: number;
}

/**
 * One connection of a driver; all that the repositories need of a database.
 * Contract: statements run in the order of the calls. Integers come back as numbers. A rejection is
 * a `GatewayError` `unavailable` when the database cannot be used, else the driver's own error.
 */
export interface SqlConnection {
  query(sql: string, params: readonly SqlValue[]): Promise<SqlResult>;
}
