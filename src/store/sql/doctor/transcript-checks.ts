/** Sessions, their windows, and the entries in them. */
import { type Check, statement } from './check.ts';

/** Where each window's entries end. */
const ENDS = `ends as (
  select session_id, count(*) as total, min(seq) as first, max(seq) as last
  from entries group by session_id)`;

/** Their entries go step by step. */
const PURGED = 'select session_id from windows where purge_at is not null';

export const TRANSCRIPT_CHECKS: readonly Check[] = [
  {
    name: 'session-window',
    rule: 'a session has no transcript to write to; its window is made again',
    find: `with ${ENDS} select s.session_id, s.key, s.created_at, coalesce(e.last, 0) as last
      from sessions s left join windows w on w.session_id = s.session_id
      left join ends e on e.session_id = s.session_id
      where w.session_id is null and s.deleted_at is null`,
    heal: (row) => [
      statement(
        `insert into windows (session_id, session_key, started_at, ended_at, next_seq, last_entry_id)
         values (?, ?, ?, null, ?, (select entry_id from entries where session_id = ? and seq = ?))`,
        row['session_id'],
        row['key'],
        row['created_at'],
        Number(row['last']) + 1,
        row['session_id'],
        row['last'],
      ),
    ],
  },
  {
    name: 'window-owner',
    rule: "a session's transcript belongs to another session",
    find: `select s.key, s.session_id from sessions s
      join windows w on w.session_id = s.session_id where w.session_key <> s.key`,
  },
  {
    name: 'window-open',
    rule: 'not the one transcript that a session points at is the open one',
    find: `select w.session_id, w.session_key, s.session_id as current, s.deleted_at from windows w
      join sessions s on s.key = w.session_key
      where (w.ended_at is null) <> (w.session_id = s.session_id and s.deleted_at is null)`,
    heal: (row, now) => [
      row['session_id'] === row['current'] && row['deleted_at'] === null
        ? statement('update windows set ended_at = null where session_id = ?', row['session_id'])
        : statement('update windows set ended_at = ? where session_id = ?', now, row['session_id']),
    ],
  },
  {
    name: 'window-session',
    rule: 'a transcript belongs to a session that is not there; it is kept',
    find: `select w.session_id, w.session_key from windows w
      where not exists (select 1 from sessions s where s.key = w.session_key)`,
  },
  {
    name: 'entry-window',
    rule: 'entries belong to a transcript that is not there; they are kept',
    find: `select session_id, count(*) as total from entries
      where session_id not in (select session_id from windows)
        and session_id not in (select session_id from sessions) group by session_id`,
  },
  {
    name: 'entry-gap',
    rule: 'entries are missing in a transcript; a backup may have them',
    find: `with ${ENDS} select session_id, last - total as missing from ends
      where (total <> last or first <> 1) and session_id not in (${PURGED})`,
  },
  {
    name: 'entry-end',
    rule: 'the newest entries of a transcript are missing; a backup may have them',
    find: `with ${ENDS} select w.session_id, w.next_seq - 1 as expected, coalesce(e.last, 0) as last
      from windows w left join ends e on e.session_id = w.session_id
      where w.next_seq - 1 > coalesce(e.last, 0) and w.purge_at is null`,
  },
  {
    name: 'window-next-seq',
    rule: 'the next entry of a transcript has no free place; it is put behind the last one',
    find: `with ${ENDS} select w.session_id, w.next_seq, e.last from windows w
      join ends e on e.session_id = w.session_id where w.next_seq <= e.last`,
    heal: (row) => [
      statement(
        `update windows set next_seq = ?,
           last_entry_id = (select entry_id from entries where session_id = ? and seq = ?)
         where session_id = ?`,
        Number(row['last']) + 1,
        row['session_id'],
        row['last'],
        row['session_id'],
      ),
    ],
  },
  {
    name: 'window-last-entry',
    rule: 'the next entry of a transcript would follow another one than the last',
    find: `select w.session_id, e.entry_id from windows w
      join entries e on e.session_id = w.session_id and e.seq = w.next_seq - 1
      where w.last_entry_id is distinct from e.entry_id`,
    heal: (row) => [
      statement(
        'update windows set last_entry_id = ? where session_id = ?',
        row['entry_id'],
        row['session_id'],
      ),
    ],
  },
  {
    name: 'entry-parent',
    rule: 'an entry does not follow the one before it',
    find: `select e.session_id, e.seq from entries e
      join entries p on p.session_id = e.session_id and p.seq = e.seq - 1
      where e.parent_id is distinct from p.entry_id
        and not exists (select 1 from entries o where o.session_id = e.session_id
          and o.seq < e.seq and o.entry_id = e.parent_id)`,
  },
];
