import { searchChecks } from '../../sql/doctor/search-checks.ts';
import { sqliteDialect } from '../sqlite-dialect.ts';
import { type Check, type DoctorDialect, JOB_SUBJECTS, statement } from '../../sql/doctor/check.ts';

/** In Postgres a payload has the type JSON, and cannot be broken. */
const JOB_PAYLOAD: Check = {
  name: 'unreadable-jobs-payload-json',
  rule: 'the payload of a job is no JSON; it is written anew from the name of the job',
  find: `select job_key, kind, substr(job_key, length(kind) + 2) as subject
    from jobs where json_valid(payload_json) = 0 and (kind = 'maintain-sessions'
      or kind in (${Object.keys(JOB_SUBJECTS)
        .map((kind) => `'${kind}'`)
        .join(', ')}))`,
  heal: ({ job_key: jobKey, kind, subject }) => [
    statement(
      'update jobs set payload_json = ? where job_key = ?',
      JSON.stringify(isOfSubject(kind) ? { [JOB_SUBJECTS[kind]]: subject } : {}),
      jobKey,
    ),
  ],
};

function isOfSubject(kind: unknown): kind is keyof typeof JOB_SUBJECTS {
  return Object.hasOwn(JOB_SUBJECTS, String(kind));
}

/** SQLite, with jobs in a table of ours. */
export const sqliteDoctorDialect: DoctorDialect = {
  begin: 'begin immediate',
  jobs: 'jobs',
  isNoJson: (column) => `json_valid(${column}) = 0`,
  addJob: ({ jobKey, kind, payloadJson, runAt }) =>
    statement(
      `insert into jobs (job_key, kind, payload_json, run_at, attempts) values (?, ?, ?, ?, 0)
       on conflict (job_key) do nothing`,
      jobKey,
      kind,
      payloadJson,
      runAt,
    ),
  removeJob: (jobKey) => statement('delete from jobs where job_key = ?', jobKey),
  ownChecks: [JOB_PAYLOAD, ...searchChecks(sqliteDialect)],
};
