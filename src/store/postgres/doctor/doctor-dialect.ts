import { searchChecks } from '../../sql/doctor/search-checks.ts';
import { postgresDialect } from '../postgres-dialect.ts';
import { type DoctorDialect, statement } from '../../sql/doctor/check.ts';
import { addJobStatement } from '../graphile-jobs.ts';

/** A job without a key has had its effect. */
const JOBS = `(select jobs.key as job_key, tasks.identifier as kind
  from graphile_worker._private_jobs as jobs
  join graphile_worker._private_tasks as tasks on tasks.id = jobs.task_id
  where jobs.key is not null)`;

/** Returns the dialect for a server of this version; `is json` is known from 16 on. */
export function postgresDoctorDialect(serverVersion: number): DoctorDialect {
  return {
    begin: 'begin',
    jobs: JOBS,
    isNoJson:
      serverVersion >= 160_000
        ? (column) => `${column} is not json`
        : (column) => `not pg_temp.is_json(${column})`,
    addJob: (job) => addJobStatement({ ...job, attempts: 0, lastError: null }),
    removeJob: (jobKey) => statement('select graphile_worker.remove_job(?::text)', jobKey),
    ownChecks: searchChecks(postgresDialect),
  };
}

/** What `is json` is before 16, for this session alone. */
export const DEFINE_IS_JSON = `create or replace function pg_temp.is_json(value text) returns boolean
language plpgsql immutable as $$
begin
  perform value::json;
  return true;
exception when others then
  return false;
end $$`;
