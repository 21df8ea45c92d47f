/** Sessions that are put away, deleted or purged: what closes them fits together, and something goes on with it. */
import { type Check, type DoctorDialect, statement } from './check.ts';

/** The job that purges what is due; there is one. */
const MAINTENANCE = 'maintain-sessions';

/** Returns the rules of closed sessions. */
export function archiveChecks(dialect: DoctorDialect): Check[] {
  return [...closedChecks(), ...clockChecks(dialect), purgeJob(dialect)];
}

function closedChecks(): Check[] {
  return [
    {
      name: 'archive-deleted',
      rule: 'a session is deleted and counts as open; it is archived as of then',
      find: `select key from sessions where deleted_at is not null and archived_at is null`,
      heal: ({ key }) => [
        statement('update sessions set archived_at = deleted_at where key = ?', key),
      ],
    },
    {
      name: 'window-deleted',
      rule: 'a session is deleted and a transcript of it is not; it is deleted as of then',
      find: `select w.session_id, s.deleted_at from windows w
        join sessions s on s.key = w.session_key
        where s.deleted_at is not null and w.deleted_at is null`,
      heal: ({ session_id: sessionId, deleted_at: deletedAt }) => [
        statement('update windows set deleted_at = ? where session_id = ?', deletedAt, sessionId),
      ],
    },
  ];
}

function clockChecks({ jobs, addJob }: DoctorDialect): Check[] {
  return [
    {
      name: 'archive-clock',
      rule: 'an archived session has still a time to be archived',
      find: `select key from sessions where archived_at is not null and archive_at is not null`,
      heal: ({ key }) => [statement('update sessions set archive_at = null where key = ?', key)],
    },
    {
      name: 'archive-job',
      rule: 'a session has a time to be archived and nothing does it; its job is added again',
      find: `select s.key, s.archive_at from sessions s
        where s.archive_at is not null and s.archived_at is null
        and not exists (select 1 from ${jobs} j where j.job_key = 'archive-session:' || s.key)`,
      heal: ({ key, archive_at: archiveAt }) => [
        addJob({
          jobKey: `archive-session:${String(key)}`,
          kind: 'archive-session',
          payloadJson: JSON.stringify({ key }),
          runAt: Number(archiveAt),
        }),
      ],
    },
  ];
}

function purgeJob({ jobs, addJob }: DoctorDialect): Check {
  return {
    name: 'purge-job',
    rule: 'transcripts are to be purged and nothing does it; the job is added again',
    find: `select w.session_id from windows w where w.purge_at is not null
      and not exists (select 1 from ${jobs} j where j.job_key = '${MAINTENANCE}')`,
    heal: (_row, now) => [
      addJob({ jobKey: MAINTENANCE, kind: MAINTENANCE, payloadJson: '{}', runAt: now }),
    ],
  };
}
