/** Inputs, runs, lanes and waits: what keeps a session's work in order, and going. */
import { type Check, statement, UNFINISHED } from './check.ts';

/** A run that joined the turn of another is no work of its own. */
const UNFINISHED_RUNS = `unfinished as (
  select session_key, run_id, run_class, seq, state from runs
  where state in ${UNFINISHED} and merged_into is null)`;

/** Ends a run that can never be played, so that whoever waits for it is told. */
function endRun(runId: unknown, error: string, now: number) {
  return [
    statement(
      `update runs set state = 'error', ended_at = ?, error = ?, reply = '' where run_id = ?`,
      now,
      error,
      runId,
    ),
  ];
}

export const RUN_CHECKS: readonly Check[] = [
  {
    name: 'run-session',
    rule: 'a run waits in a session that is not there; it ends with an error',
    find: `select r.run_id, r.session_key from runs r where r.state in ${UNFINISHED}
      and not exists (select 1 from sessions s where s.key = r.session_key)`,
    heal: ({ run_id: runId }, now) => endRun(runId, 'its session was lost from the store', now),
  },
  {
    name: 'run-input',
    rule: 'a queued run has no message; it ends with an error',
    find: `select r.run_id, r.session_key from runs r where r.state = 'queued'
      and not exists (select 1 from inputs i where i.input_id = r.run_id)`,
    heal: ({ run_id: runId }, now) => endRun(runId, 'its message was lost from the store', now),
  },
  {
    name: 'run-window',
    rule: 'a run that has started names no transcript; it ends with an error',
    find: `select r.run_id, r.session_key from runs r where r.state in ('running', 'waiting')
      and not exists (select 1 from windows w where w.session_id = r.session_id)`,
    heal: ({ run_id: runId }, now) => endRun(runId, 'its transcript was lost from the store', now),
  },
  {
    name: 'input-run',
    rule: 'an accepted message has no run; it stays visible as pending, send it again',
    find: `select i.input_id, i.session_key from inputs i where i.state = 'pending'
      and i.run_id is not null and not exists (select 1 from runs r where r.run_id = i.run_id)`,
  },
  {
    name: 'tool-call-run',
    rule: 'a tool call belongs to a run that is not there',
    find: `select distinct t.run_id from tool_calls t
      where not exists (select 1 from runs r where r.run_id = t.run_id)`,
  },
  {
    name: 'lane-missing',
    rule: 'runs wait in a session without a lane; it is made again',
    find: `with ${UNFINISHED_RUNS} select u.session_key, max(abs(u.seq)) as last from unfinished u
      where u.session_key not in (select session_key from lanes) group by u.session_key`,
    heal: ({ session_key: key, last }) => [
      statement(
        `insert into lanes (session_key, owner, epoch, next_seq, pending, state, ready_at, root_key)
         values (?, null, 0, ?, 0, 'idle', 0,
           coalesce((select root_key from sessions where key = ?), ?))`,
        key,
        Number(last) + 1,
        key,
        key,
      ),
    ],
  },
  {
    name: 'lane-current',
    rule: 'a lane holds a run that has ended or is not there; it is freed',
    find: `select l.session_key, l.current_run_id from lanes l
      where l.current_run_id is not null and not exists (select 1 from runs r
        where r.run_id = l.current_run_id and r.session_key = l.session_key
        and r.state in ('running', 'waiting'))`,
    heal: ({ session_key: key }) => [
      statement('update lanes set current_run_id = null, owner = null where session_key = ?', key),
    ],
  },
  {
    name: 'run-lane',
    rule: 'a run has started and its lane does not hold it; a free lane takes it up again',
    find: `select r.run_id, r.session_key from runs r
      join lanes l on l.session_key = r.session_key
      where r.state in ('running', 'waiting') and r.merged_into is null
        and l.current_run_id is distinct from r.run_id`,
    heal: ({ run_id: runId, session_key: key }) => [
      statement(
        'update lanes set current_run_id = ? where session_key = ? and current_run_id is null',
        runId,
        key,
      ),
    ],
  },
  {
    name: 'run-merged',
    rule: 'a message joined the turn of a run that has ended or is not there; it ends with an error',
    find: `select r.run_id, r.session_key from runs r
      where r.merged_into is not null and r.state in ${UNFINISHED}
      and not exists (select 1 from runs m where m.run_id = r.merged_into
        and m.state in ('running', 'waiting'))`,
    heal: ({ run_id: runId }, now) =>
      endRun(runId, 'the run whose turn took it in ended without it; read that run', now),
  },
  {
    name: 'lane-counts',
    rule: 'a lane counts its work wrongly; counted again',
    find: `with ${UNFINISHED_RUNS},
      counted as (select session_key, count(*) as total from unfinished group by session_key),
      firsts as (select session_key, min(seq) as seq from unfinished where state = 'queued' group by session_key),
      heads as (select u.session_key, u.run_class from unfinished u
        join firsts f on f.session_key = u.session_key and f.seq = u.seq and u.state = 'queued'),
      expected as (select l.session_key, l.pending, l.head_class, l.state,
          coalesce(c.total, 0) as total, coalesce(held.run_class, h.run_class) as class,
          case when l.current_run_id is not null then held.state
            when c.total > 0 then 'queued' else 'idle' end as right_state
        from lanes l left join counted c on c.session_key = l.session_key
        left join heads h on h.session_key = l.session_key
        left join unfinished held on held.run_id = l.current_run_id)
      select * from expected
        where pending <> total or head_class is distinct from class
          or state is distinct from right_state`,
    heal: (row) => [
      statement(
        'update lanes set pending = ?, head_class = ?, state = ? where session_key = ?',
        row['total'],
        row['class'],
        row['right_state'],
        row['session_key'],
      ),
    ],
  },
  {
    name: 'lane-next-seq',
    rule: 'the next message of a lane would stand before an earlier one',
    find: `select l.session_key, l.next_seq, max(i.seq) as last from lanes l
      join inputs i on i.session_key = l.session_key
      group by l.session_key, l.next_seq having l.next_seq <= max(i.seq)`,
    heal: ({ session_key: key, last }) => [
      statement('update lanes set next_seq = ? where session_key = ?', Number(last) + 1, key),
    ],
  },
  {
    name: 'wait-run',
    rule: 'a wait is open for a run that has ended or is not there, or waits for nothing; it ends',
    find: `select w.wait_id from waits w where w.state = 'open' and (
      not exists (select 1 from runs r where r.run_id = w.waiter_run_id and r.state in ${UNFINISHED})
      or not exists (select 1 from runs r where r.run_id = w.target_run_id))`,
    heal: ({ wait_id: waitId }, now) => [
      statement(
        `update waits set state = 'interrupted', ended_at = ? where wait_id = ?`,
        now,
        waitId,
      ),
    ],
  },
];
