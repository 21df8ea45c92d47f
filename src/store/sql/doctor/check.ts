/** A rule that the rows of the store keep among themselves, and what restores it. */
import type { SqlConnection, SqlValue } from '../connection.ts';
import type { SqlSteps } from '../sql-steps.ts';

export type Found = Record<string, unknown>;

export interface Statement {
  /** values stand as `?`, or as the database numbers them */
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
  heal?(row: Found, now: number): Statement[] | SqlSteps;
}

/** What differs between the databases that the doctor looks through. */
export interface DoctorDialect {
  /** begins the transaction of one rule */
  begin: string;
  /** what to select jobs from: job_key, kind */
  jobs: string;
  /** Returns a condition for a text that is no JSON. */
  isNoJson(column: string): string;
  /** Adds a job that is due; of one key there is one, however often it is added. */
  addJob(job: { jobKey: string; kind: string; payloadJson: string; runAt: number }): Statement;
  removeJob(jobKey: unknown): Statement;
  /** rules that only this database can break */
  ownChecks: readonly Check[];
}

/** A store that nobody changes meanwhile, or one snapshot of it. */
export interface DoctorStore extends SqlConnection {
  dialect: DoctorDialect;
}

/** States of a run without an outcome. */
export const UNFINISHED = `('queued', 'running', 'waiting')`;

/** The name of the subject in the payload of a job, by its kind. The key of the job is `<kind>:<subject>`. */
export const JOB_SUBJECTS = {
  'advance-exchange': 'exchangeId',
  'announce-spawn': 'childKey',
  'archive-session': 'key',
  'remove-attachments': 'folderId',
  deliver: 'routeKey',
  'expire-inbox': 'runId',
} as const;

/** Returns a statement with its values in order. */
export function statement(sql: string, ...params: unknown[]): Statement {
  return { sql, params: params as SqlValue[] };
}
