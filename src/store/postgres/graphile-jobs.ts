/**
 * Jobs as rows of graphile-worker, added and ended by its SQL functions in the transaction of their
 * cause and effect. Attempts and the last error travel in the payload: a job that is running is
 * ended by its worker, so trying again is a new row under the same key.
 */
import { cleanJson, cleanText } from '../sql/clean-text.ts';
import type { SqlValue } from '../sql/connection.ts';
import type { SqlUnit } from '../sql/sql-unit.ts';
import type { JobRow, JobWrites } from '../follow-up-repository.ts';

/** What graphile-worker carries of a job of ours. */
export interface JobEnvelope {
  payload: Record<string, string>;
  attempts: number;
  lastError: string | null;
}

/** The largest it takes: whether a job is tried again is decided by its handler. */
const MAX_ATTEMPTS = 32_767;

const ADD = `select graphile_worker.add_job(
  identifier => $1::text,
  payload => json_build_object('payload', $2::json, 'attempts', $3::int, 'lastError', $4::text),
  run_at => to_timestamp($5::bigint / 1000.0),
  max_attempts => ${MAX_ATTEMPTS},
  job_key => $6::text)`;

const REMOVE = 'select graphile_worker.remove_job($1::text)';

const JOBS = `select jobs.id as job_id, jobs.key as job_key, tasks.identifier as kind,
    (jobs.payload -> 'payload')::text as payload_json,
    round(extract(epoch from jobs.run_at) * 1000)::bigint as run_at,
    (jobs.payload ->> 'attempts')::int as attempts, jobs.payload ->> 'lastError' as last_error
  from graphile_worker._private_jobs as jobs
  join graphile_worker._private_tasks as tasks on tasks.id = jobs.task_id`;

const BY_KEY = `${JOBS} where jobs.key = $1::text`;

/** In this order the index of available jobs is read. A job without a key has had its effect. */
const DUE = `${JOBS}
  where jobs.is_available and jobs.key is not null
    and jobs.run_at <= to_timestamp($1::bigint / 1000.0)
  order by jobs.run_at, jobs.id limit $2::int`;

const NEXT = `select round(extract(epoch from min(run_at)) * 1000)::bigint as run_at
  from graphile_worker._private_jobs where key is not null`;

export class GraphileJobs implements JobWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  async due(now: number, limit: number): Promise<JobRow[]> {
    return (await this.#unit.raw(DUE, [now, limit])).rows.map(toJobRow);
  }

  async nextRunAt(): Promise<number | undefined> {
    const runAt = (await this.#unit.raw(NEXT, [])).rows[0]?.['run_at'];
    return typeof runAt === 'number' ? runAt : undefined;
  }

  async add(job: Pick<JobRow, 'jobKey' | 'kind' | 'payloadJson' | 'runAt'>): Promise<void> {
    await this.#add({ ...job, attempts: 0, lastError: null });
  }

  async remove(jobKey: string): Promise<void> {
    await this.#unit.raw(REMOVE, [cleanText(jobKey)]);
  }

  async retry(jobKey: string, failure: { error: string; runAt: number }): Promise<void> {
    const record = (await this.#unit.raw(BY_KEY, [cleanText(jobKey)])).rows[0];
    if (record === undefined) return;
    const job = toJobRow(record);
    const { error: lastError, runAt } = failure;
    await this.#add({ ...job, runAt, lastError, attempts: job.attempts + 1 });
  }

  async #add(job: Omit<JobRow, 'jobId'>): Promise<void> {
    const { sql, params } = addJobStatement(job);
    await this.#unit.raw(sql, params);
  }
}

/** Returns the statement that adds a job, or moves the one of this key. */
export function addJobStatement(job: Omit<JobRow, 'jobId'>): { sql: string; params: SqlValue[] } {
  return {
    sql: ADD,
    params: [
      job.kind,
      cleanJson(job.payloadJson),
      job.attempts,
      job.lastError === null ? null : cleanText(job.lastError),
      job.runAt,
      cleanText(job.jobKey),
    ],
  };
}

function toJobRow(record: Record<string, unknown>): JobRow {
  const { job_id: jobId, job_key: jobKey, payload_json: payloadJson, run_at: runAt } = record;
  const { kind, attempts, last_error: lastError } = record;
  return { jobId, jobKey, kind, payloadJson, runAt, attempts, lastError } as JobRow;
}
