/** Who descends from whom: the closure decides what a session may see, so that it must be exact. */
import { type Check, statement } from './check.ts';

/** What the closure should be, from the parents that sessions name. */
const RIGHT = `with recursive lineage (session_key, ancestor_key) as (
  select key, spawned_by from sessions where spawned_by is not null
  union
  select l.session_key, s.spawned_by from lineage l
  join sessions s on s.key = l.ancestor_key where s.spawned_by is not null)`;

export const LINEAGE_CHECKS: readonly Check[] = [
  {
    name: 'lineage-missing',
    rule: 'a session does not count as a descendant of one that it descends from',
    find: `${RIGHT} select session_key, ancestor_key from lineage
      except select session_key, ancestor_key from session_ancestors`,
    heal: (row) => [
      statement(
        `insert into session_ancestors (session_key, ancestor_key, updated_at, archived_at, deleted_at)
         select key, ?, updated_at, archived_at, deleted_at from sessions where key = ?`,
        row['ancestor_key'],
        row['session_key'],
      ),
    ],
  },
  {
    name: 'lineage-wrong',
    rule: 'a session counts as a descendant of one that it does not descend from',
    find: `${RIGHT} select session_key, ancestor_key from session_ancestors
      except select session_key, ancestor_key from lineage`,
    heal: (row) => [
      statement(
        'delete from session_ancestors where session_key = ? and ancestor_key = ?',
        row['session_key'],
        row['ancestor_key'],
      ),
    ],
  },
  {
    name: 'lineage-order',
    rule: 'a session stands in another place below its ancestors than in other lists',
    find: `select distinct s.key, s.updated_at, s.archived_at, s.deleted_at from sessions s
      join session_ancestors a on a.session_key = s.key
      where a.updated_at <> s.updated_at or a.archived_at is distinct from s.archived_at
        or a.deleted_at is distinct from s.deleted_at`,
    heal: (row) => [
      statement(
        `update session_ancestors set updated_at = ?, archived_at = ?, deleted_at = ?
         where session_key = ?`,
        row['updated_at'],
        row['archived_at'],
        row['deleted_at'],
        row['key'],
      ),
    ],
  },
  {
    name: 'lineage-root',
    rule: 'a session stands under another root, or deeper or higher, than its parent says',
    find: `select s.key, p.root_key, p.spawn_depth + 1 as depth from sessions s
      join sessions p on p.key = s.spawned_by
      where s.root_key <> p.root_key or s.spawn_depth <> p.spawn_depth + 1`,
    heal: (row) => [
      statement(
        'update sessions set root_key = ?, spawn_depth = ? where key = ?',
        row['root_key'],
        row['depth'],
        row['key'],
      ),
    ],
  },
];
