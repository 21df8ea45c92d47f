/** When sessions are put away, deleted and purged, and how each of these is found. */
export function archive(): string[] {
  return [
    // epoch ms: when it is archived, null = no clock runs
    `alter table sessions add column archive_at bigint`,
    // epoch ms: hidden from every tool since then; what is deleted is archived too
    `alter table sessions add column deleted_at bigint`,
    // epoch ms: hidden from every tool since then; the operator reads it until it is purged
    `alter table windows add column deleted_at bigint`,
    // epoch ms: hidden from everybody since then, its rows go step by step
    `alter table windows add column purge_at bigint`,

    // sessions.scan, archived
    `drop index sessions_archived`,
    `create index sessions_archived on sessions (updated_at, key)
      where archived_at is not null and deleted_at is null`,
    `drop index sessions_archived_of_agent`,
    `create index sessions_archived_of_agent on sessions (agent_id, updated_at, key)
      where archived_at is not null and deleted_at is null`,
    `drop index sessions_archived_of_root`,
    `create index sessions_archived_of_root on sessions (root_key, updated_at, key)
      where archived_at is not null and deleted_at is null`,
    // sessions.clocks
    `create index sessions_clock on sessions (key) where archive_at is not null`,
    // sessions.archivedBefore
    `create index sessions_put_away on sessions (archived_at, key)
      where archived_at is not null and deleted_at is null`,

    // windows.ofKey
    `create index windows_of_key on windows (session_key, started_at, session_id)`,
    // windows.endedBefore
    `create index windows_ended on windows (ended_at, session_id)
      where ended_at is not null and deleted_at is null`,
    // windows.deletedBefore
    `create index windows_deleted on windows (deleted_at, session_id)
      where deleted_at is not null and purge_at is null`,
    // windows.condemned
    `create index windows_condemned on windows (purge_at, session_id) where purge_at is not null`,

    // epoch ms: its texts are gone, it is kept for the key of its message
    `alter table runs add column purged_at bigint`,
    // runs.latestOf, runs.pageOfSession, purge.runs
    `drop index runs_session`,
    `create index runs_session on runs (session_key, accepted_at, seq) where purged_at is null`,
    // runs.pageOfState, runs.countByState
    `drop index runs_state`,
    `create index runs_state on runs (state, accepted_at, run_id) where purged_at is null`,

    // purge.notes: what joined a turn has no run of its own
    `create index inputs_notes on inputs (session_key, seq)
      where kind in ('note', 'announce', 'summary')`,
    // purge.run: ended waits go with the run that waited
    `create index waits_of_run on waits (waiter_run_id)`,
    // deliveries.hasOpen
    `create index deliveries_open_of_session on deliveries (session_key)
      where state in ('queued', 'sending')`,
  ];
}
