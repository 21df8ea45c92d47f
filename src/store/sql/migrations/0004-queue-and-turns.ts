/** Messages that wait for a busy session, and lanes that take turns by the root of their sessions. */
export function queueAndTurns(): string[] {
  return [
    // what a session sets of messages.queue, null = by configuration
    `alter table sessions add column queue_mode text`, // steer | followup | collect | …
    `alter table sessions add column queue_debounce_ms bigint`,
    `alter table sessions add column queue_cap bigint`,
    `alter table sessions add column queue_drop text`, // old | new | summarize

    // what a message may do to the turns around it, null = a turn of its own
    `alter table runs add column queue_mode text`,
    // runs.mergedInto
    `create index runs_merged on runs (merged_into, seq)
      where merged_into is not null`,

    // the topmost session above the lane's own
    `alter table lanes add column root_key text not null default ''`,
    // epoch ms: ready_at, or when its root was served since
    `alter table lanes add column turn_at bigint not null default 0`,
    // epoch ms: until when collected messages wait for more of them
    `alter table lanes add column quiet_until bigint not null default 0`,
    `update lanes set
      root_key = coalesce((select root_key from sessions where key = lanes.session_key), session_key),
      turn_at = ready_at`,
    `drop index lanes_ready`,
    // lanes.claimNext: interrupted lanes first, then the root served longest ago; lanes.nextReadyAt
    `create index lanes_ready on lanes
      (head_class, (current_run_id is null), turn_at, ready_at, session_key)
      where owner is null and pending > 0`,
    // lanes.claimNext: the other lanes of the root that was served go to the end of the order
    `create index lanes_of_root on lanes (root_key, head_class, turn_at)
      where owner is null and pending > 0`,
  ];
}
