import type { JobRow, JobWrites } from '../follow-up-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const DUE = defineQuery((db, p: { now: number; limit: number }) =>
  db
    .selectFrom('jobs')
    .selectAll()
    .where('run_at', '<=', p.now)
    .orderBy('run_at')
    .orderBy('job_id')
    .limit(p.limit),
);

const NEXT = defineQuery((db, _p: object) =>
  db.selectFrom('jobs').select('run_at').orderBy('run_at').orderBy('job_id').limit(1),
);

/** A moved job starts afresh: its failed attempts were those of the work it replaces. */
const ADD = defineQuery((db, p: Pick<JobRow, 'jobKey' | 'kind' | 'payloadJson' | 'runAt'>) =>
  db
    .insertInto('jobs')
    .values({
      job_key: p.jobKey,
      kind: p.kind,
      payload_json: p.payloadJson,
      run_at: p.runAt,
      attempts: 0,
      last_error: null,
    })
    .onConflict((conflict) =>
      conflict.column('job_key').doUpdateSet((eb) => ({
        kind: eb.ref('excluded.kind'),
        payload_json: eb.ref('excluded.payload_json'),
        run_at: eb.ref('excluded.run_at'),
        attempts: eb.ref('excluded.attempts'),
        last_error: eb.ref('excluded.last_error'),
      })),
    ),
);

const REMOVE = defineQuery((db, p: { jobKey: string }) =>
  db.deleteFrom('jobs').where('job_key', '=', p.jobKey),
);

const RETRY = defineQuery((db, p: { jobKey: string; error: string; runAt: number }) =>
  db
    .updateTable('jobs')
    .set((eb) => ({
      attempts: eb('attempts', '+', eb.lit(1)),
      last_error: p.error,
      run_at: p.runAt,
    }))
    .where('job_key', '=', p.jobKey),
);

export class SqlJobs implements JobWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  due(now: number, limit: number): Promise<JobRow[]> {
    return this.#unit.all(DUE, { now, limit });
  }

  async nextRunAt(): Promise<number | undefined> {
    return (await this.#unit.first(NEXT, {}))?.runAt;
  }

  async add(job: Pick<JobRow, 'jobKey' | 'kind' | 'payloadJson' | 'runAt'>): Promise<void> {
    await this.#unit.change(ADD, job);
  }

  async remove(jobKey: string): Promise<void> {
    await this.#unit.change(REMOVE, { jobKey });
  }

  async retry(jobKey: string, failure: { error: string; runAt: number }): Promise<void> {
    await this.#unit.change(RETRY, { jobKey, ...failure });
  }
}
