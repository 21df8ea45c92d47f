import type { SqlDialect } from '../dialect.ts';

/**
 * The sessions below one are found in the order of lists. What they are ordered by stands in each row of
 * the closure, so that a page below a session costs the page, whatever else is under its root.
 */
export function treesInOrder({ clusteredTable, sortedText }: SqlDialect): string[] {
  return [
    `create temporary table kept_ancestors as
      select a.session_key, a.ancestor_key, coalesce(s.updated_at, 0) as updated_at, s.archived_at,
        s.deleted_at
      from session_ancestors a left join sessions s on s.key = a.session_key`,
    `drop table session_ancestors`,
    // its primary key serves sessions.isDescendant, and sessions.update
    `create table session_ancestors (
      session_key ${sortedText} not null,   -- the descendant
      ancestor_key ${sortedText} not null,  -- its parent, the parent's parent, …
      updated_at bigint not null,           -- as in the descendant's row
      archived_at bigint,                   -- as in the descendant's row
      deleted_at bigint,                    -- as in the descendant's row
      primary key (session_key, ancestor_key)
    )${clusteredTable}`,
    `insert into session_ancestors (session_key, ancestor_key, updated_at, archived_at, deleted_at)
      select session_key, ancestor_key, updated_at, archived_at, deleted_at from kept_ancestors`,
    `drop table kept_ancestors`,
    // sessions.busyBelow
    `create index session_ancestors_below on session_ancestors (ancestor_key, session_key)`,
    // sessions.scan, below
    `create index session_ancestors_live on session_ancestors (ancestor_key, updated_at, session_key)
      where archived_at is null`,
    `create index session_ancestors_archived on session_ancestors (ancestor_key, updated_at, session_key)
      where archived_at is not null and deleted_at is null`,
    `drop index sessions_live_of_root`,
    `drop index sessions_archived_of_root`,
  ];
}
