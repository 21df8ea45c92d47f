/** A rule that the rows of the store keep among themselves, and what restores it. */
import type { SqlValue } from '../../sql/connection.ts';

export type Found = Record<string, unknown>;

export interface Statement {
  sql: string;
  params: SqlValue[];
}

export interface Check {
  /** names the finding; `heal-<name>` is the unit that heals it */
  name: string;
  /** what is wrong with one row of `find`, and what it means */
  rule: string;
  /** Selects the rows that break the rule; the first column names the row. */
  find: string;
  /**
   * Returns what restores the rule for one row; absent = it can only be reported.
   * Contract: never removes what somebody could read (BR-053).
   */
  heal?(row: Found, now: number): Statement[];
}

/** States of a run without an outcome. */
export const UNFINISHED = `('queued', 'running', 'waiting')`;

/** Returns a statement with its values in order. */
export function statement(sql: string, ...params: unknown[]): Statement {
  return { sql, params: params as SqlValue[] };
}
