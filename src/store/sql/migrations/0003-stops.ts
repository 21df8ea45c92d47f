/** What stopping and waiting for several runs need to be told and found. */
export function stops(): string[] {
  return [
    `alter table runs add column stopped_by text /* who stopped it: operator or a session key */`,
    `alter table runs add column stop_key text /* names the call that stopped it */`,
    `alter table waits add column interrupted_by text /* runId of the person's message that ended it */`,
    // runs.stoppedUnder
    `create index runs_stopped on runs (stop_key) where stop_key is not null`,
    // runs.causedBy
    `create index runs_caused on runs (parent_run_id) where parent_run_id is not null`,
    // runs.latestOf, runs.pageOfSession
    `create index runs_session on runs (session_key, accepted_at, seq)`,
    // runs.pageOfState, runs.countByState
    `drop index runs_state`,
    `create index runs_state on runs (state, accepted_at, run_id)`,
    // sessions.busyBelow
    `create index session_ancestors_below on session_ancestors (ancestor_key, session_key)`,
    // exchanges.openOf
    `create index exchanges_open_of_target on exchanges (target_key) where state <> 'done'`,
  ];
}
