/** Exchanges, spawns with their files, deliveries and their jobs: each that is open has something that moves it on. */
import {
  type Check,
  type DoctorDialect,
  JOB_SUBJECTS,
  type Statement,
  statement,
  UNFINISHED,
} from './check.ts';

type FollowUp = Exclude<keyof typeof JOB_SUBJECTS, 'archive-session'>;

const LOST_STEP = 'the step that was going was lost from the store';

/** Returns the rules of what follows from runs. */
export function followUpChecks(dialect: DoctorDialect): Check[] {
  return [
    ...exchangeChecks(dialect),
    ...spawnChecks(dialect),
    attachmentsCheck(dialect),
    ...deliveryChecks(dialect),
    inboxCheck(dialect),
  ];
}

function exchangeChecks(dialect: DoctorDialect): Check[] {
  return [
    {
      name: 'exchange-run',
      rule: 'an exchange waits for a turn that is over or not there; it ends, with its announce',
      find: `select x.exchange_id, x.state from exchanges x
      where x.state in ('primary', 'turn', 'announce') and not exists (select 1 from runs r
        where r.state in ${UNFINISHED} and r.exchange_id = x.exchange_id)`,
      heal: ({ exchange_id: id, state }, now) => [
        statement(
          `update exchanges set state = ?, ended_at = ?, end_reason = coalesce(end_reason, 'error'),
           end_detail = coalesce(end_detail, ?) where exchange_id = ?`,
          state === 'announce' ? 'done' : 'due',
          state === 'announce' ? now : null,
          LOST_STEP,
          id,
        ),
      ],
    },
    {
      name: 'exchange-job',
      rule: 'the next step of an exchange is due and nothing does it; its job is added again',
      find: `select x.exchange_id from exchanges x where x.state = 'due'
      and ${hasNoJob(dialect, 'advance-exchange', 'x.exchange_id')}
      and (x.end_reason is not null or not exists (select 1 from runs r
        where r.run_id = x.requester_run_id and r.state in ${UNFINISHED}))`,
      heal: ({ exchange_id: id }, now) => [
        addJob(dialect, { kind: 'advance-exchange', subject: id, now }),
      ],
    },
    nowhere(dialect, 'advance-exchange', 'exchanges.exchange_id'),
  ];
}

function spawnChecks(dialect: DoctorDialect): Check[] {
  return [
    {
      name: 'spawn-run',
      rule: "a child's run is not there; its requester is told that its outcome is unknown",
      find: `select p.child_key, p.run_id from spawns p where p.state = 'running'
      and not exists (select 1 from runs r where r.run_id = p.run_id)`,
      heal: ({ child_key: key }) => [
        statement(`update spawns set state = 'announcing' where child_key = ?`, key),
      ],
    },
    {
      name: 'spawn-state',
      rule: 'a child has ended and its announce was not begun',
      find: `select p.child_key from spawns p join runs r on r.run_id = p.run_id
      where p.state = 'running' and r.state not in ${UNFINISHED}`,
      heal: ({ child_key: key }) => [
        statement(`update spawns set state = 'announcing' where child_key = ?`, key),
      ],
    },
    {
      name: 'spawn-job',
      rule: "a child's announce is due and nothing does it; its job is added again",
      find: `select p.child_key from spawns p where p.state = 'announcing'
      and ${hasNoJob(dialect, 'announce-spawn', 'p.child_key')}
      and not exists (select 1 from runs r
        where r.run_id in (p.run_id || ':announce', p.run_id || ':relay') and r.state in ${UNFINISHED})
      and not exists (select 1 from spawns c
        where c.requester_key = p.child_key and c.state <> 'settled')`,
      heal: ({ child_key: key }, now) => [
        addJob(dialect, { kind: 'announce-spawn', subject: key, now }),
      ],
    },
    nowhere(dialect, 'announce-spawn', 'spawns.child_key'),
  ];
}

function deliveryChecks(dialect: DoctorDialect): Check[] {
  return [
    {
      name: 'delivery-job',
      rule: 'a text is to go out and nothing sends it; its job is added again',
      find: `select d.delivery_id, d.route_key from deliveries d
        where d.state in ('queued', 'sending')
      and ${hasNoJob(dialect, 'deliver', 'd.route_key')}`,
      heal: ({ route_key: route }, now) => [
        addJob(dialect, { kind: 'deliver', subject: route, now }),
      ],
    },
    {
      name: 'job-deliveries',
      rule: 'a job is for a chat to which nothing is to go out; it ends',
      find: `select j.job_key from ${dialect.jobs} j where j.kind = 'deliver' and not exists
        (select 1 from deliveries d
          where j.job_key = 'deliver:' || d.route_key and d.state in ('queued', 'sending'))`,
      heal: ({ job_key: jobKey }) => [dialect.removeJob(jobKey)],
    },
  ];
}

function attachmentsCheck(dialect: DoctorDialect): Check {
  return {
    name: 'attachments-job',
    rule: 'files of a sub-agent were given up and nothing removes them; the job is added again',
    find: `select a.folder_id, a.child_key from attachments a
      where a.state = 'leaving' and ${hasNoJob(dialect, 'remove-attachments', 'a.folder_id')}`,
    heal: ({ folder_id: folderId }, now) => [
      addJob(dialect, { kind: 'remove-attachments', subject: folderId, now }),
    ],
  };
}

function inboxCheck(dialect: DoctorDialect): Check {
  return {
    name: 'inbox-job',
    rule: 'a client has a message whose time nothing keeps; its job is added again',
    find: `select r.run_id, r.session_key from runs r
      where r.run_class = 'inbox' and r.state = 'running' and r.deadline_at is not null
      and ${hasNoJob(dialect, 'expire-inbox', 'r.run_id')}`,
    // what is not over yet is looked at again in its time
    heal: ({ run_id: runId }, now) => [
      addJob(dialect, { kind: 'expire-inbox', subject: runId, now }),
    ],
  };
}

/** The job that the units of the use cases add, under the same key. */
function addJob(
  dialect: DoctorDialect,
  { kind, subject, now }: { kind: FollowUp; subject: unknown; now: number },
): Statement {
  const payloadJson = JSON.stringify({ [JOB_SUBJECTS[kind]]: subject });
  return dialect.addJob({ jobKey: `${kind}:${String(subject)}`, kind, payloadJson, runAt: now });
}

function hasNoJob({ jobs }: DoctorDialect, kind: FollowUp, subject: string): string {
  return `not exists (select 1 from ${jobs} j where j.job_key = '${kind}:' || ${subject})`;
}

function nowhere(
  { jobs, removeJob }: DoctorDialect,
  kind: 'advance-exchange' | 'announce-spawn',
  subject: string,
): Check {
  const table = subject.slice(0, subject.indexOf('.'));
  return {
    name: `job-${table}`,
    rule: 'a job is for something that is not there; it ends',
    find: `select j.job_key from ${jobs} j where j.kind = '${kind}' and not exists
      (select 1 from ${table} where j.job_key = '${kind}:' || ${subject})`,
    heal: ({ job_key: jobKey }) => [removeJob(jobKey)],
  };
}
