import type { SqlDialect } from '../dialect.ts';

/**
 * Sessions, transcripts, lanes, runs and all that follows from a run. No foreign keys: rows are
 * written by one program in units that keep them together, and a check per row costs a look-up.
 */
export function firstTables(dialect: SqlDialect): string[] {
  return [
    ...sessions(dialect),
    ...transcripts(),
    ...runs(dialect),
    ...followUps(dialect),
    ...jobs(dialect),
  ];
}

function sessions({ clusteredTable, sortedText }: SqlDialect): string[] {
  return [
    `create table sessions (
      key ${sortedText} not null primary key, -- canonical key
      agent_id text not null,               -- owner
      kind text not null,                   -- main | group | cron | hook | node | other
      session_id text not null,             -- window the key points at now
      chat_type text,                       -- direct | group | channel
      channel text,                         -- recorded at creation (groups)
      label text,                           -- name that other sessions may address it by
      display_name text,                    -- name for people
      model text,                           -- override provider/id, null = the agent's
      thinking_level text,                  -- override, null = the agent's
      verbose_level text,                   -- override, null = the agent's
      reasoning_level text,                 -- override, null = the agent's
      elevated_level text,                  -- override, null = the agent's
      last_model text,                      -- provider/id of the last model call
      input_tokens bigint not null,         -- sum over its runs
      output_tokens bigint not null,        -- sum over its runs
      total_tokens bigint,                  -- context size after the last model call, null = unknown
      system_sent integer not null,         -- 0 | 1
      aborted_last_run integer not null,    -- 0 | 1
      send_policy text,                     -- allow | deny, null = by rule
      last_channel text,                    -- last route: channel
      last_to text,                         -- last route: address
      last_account_id text,                 -- last route: account
      last_thread_id text,                  -- last route: thread
      spawned_by text,                      -- key of the session that spawned it; write-once
      root_key text not null,               -- topmost ancestor, itself when not spawned; write-once
      spawn_depth integer not null,         -- 0 = not spawned; write-once
      created_at bigint not null,           -- epoch ms
      updated_at bigint not null,           -- epoch ms
      archived_at bigint                    -- epoch ms, null = not archived
    )`,
    // sessions.scan, everything
    `create index sessions_live on sessions (updated_at, key) where archived_at is null`,
    `create index sessions_archived on sessions (updated_at, key) where archived_at is not null`,
    // sessions.scan, agent
    `create index sessions_live_of_agent on sessions (agent_id, updated_at, key)
      where archived_at is null`,
    `create index sessions_archived_of_agent on sessions (agent_id, updated_at, key)
      where archived_at is not null`,
    // sessions.scan, tree
    `create index sessions_live_of_root on sessions (root_key, updated_at, key)
      where archived_at is null`,
    `create index sessions_archived_of_root on sessions (root_key, updated_at, key)
      where archived_at is not null`,
    // sessions.findByLabel
    `create index sessions_label on sessions (label, updated_at, key)
      where label is not null and archived_at is null`,

    // its primary key serves sessions.isDescendant and the check of sessions.scan, tree
    `create table session_ancestors (
      session_key text not null,            -- the descendant
      ancestor_key text not null,           -- its parent, the parent's parent, …
      primary key (session_key, ancestor_key)
    )${clusteredTable}`,
  ];
}

function transcripts(): string[] {
  return [
    `create table windows (
      session_id text not null primary key, -- names the transcript
      session_key text not null,            -- key that points or pointed at it
      started_at bigint not null,           -- epoch ms
      ended_at bigint,                      -- epoch ms, null = the current one
      next_seq bigint not null,             -- seq of the next entry, from 1
      last_entry_id text                    -- parent of the next entry
    )`,
    // sessions.update with a new sessionId ends the open window
    `create index windows_open on windows (session_key) where ended_at is null`,

    // its primary key serves entries.tail with tools and entries.context
    `create table entries (
      session_id text not null,             -- window
      seq bigint not null,                  -- order in the window, from 1
      entry_id text not null,               -- unique in the window
      parent_id text,                       -- entry before it
      type text not null,                   -- message | compaction | model_change | …
      role text,                            -- of a message: user | assistant | toolResult
      run_id text,                          -- run that appended it
      json text not null,                   -- the message, or the whole entry of another type
      created_at bigint not null,           -- epoch ms
      primary key (session_id, seq)
    )`,
    // entries.tail without tools: the filter comes before the limit (BR-133)
    `create index entries_chat on entries (session_id, seq)
      where type = 'message' and role <> 'toolResult'`,
    // entries.context
    `create index entries_compaction on entries (session_id, seq) where type = 'compaction'`,
    // entries.ofRun
    `create index entries_run on entries (run_id, seq) where run_id is not null`,
  ];
}

function runs({ clusteredTable, sortedText }: SqlDialect): string[] {
  return [
    `create table inputs (
      input_id text not null primary key,   -- the runId given at acceptance
      session_key text not null,            -- whose lane
      seq bigint not null,                  -- order in the lane
      kind text not null,                   -- message | inter_session | note | exchange | task | prompt | announce
      run_id text,                          -- run that takes it, null for a note not yet appended
      text text not null,                   -- as the transcript will show it
      provenance_json text,                 -- Provenance
      state text not null,                  -- pending | appended | dropped
      idempotency_scope text,               -- <caller> <method>, null = no key
      idempotency_key text,                 -- the caller's name of the job
      content_hash text,                    -- sha256 of the content that the key names
      root_run_id text not null,            -- root of the message tree
      source_key text,                      -- sending session, null = person or operator
      accepted_at bigint not null,          -- epoch ms
      appended_at bigint                    -- epoch ms
    )`,
    // inputs.findByIdempotencyKey, and that a key is taken once
    `create unique index inputs_idempotency on inputs (idempotency_scope, idempotency_key)
      where idempotency_key is not null`,
    // inputs.pending
    `create index inputs_pending on inputs (session_key, seq) where state = 'pending'`,
    // inputs.countUnderRoot, inputs.countEdge
    `create index inputs_routed on inputs (root_run_id, kind, source_key, session_key)
      where kind in ('inter_session', 'note', 'exchange')`,

    `create table runs (
      run_id text not null primary key,     -- id of its first input
      session_key text not null,            -- whose lane
      session_id text,                      -- window it writes to, null until claimed
      seq bigint not null,                  -- order in the lane
      state text not null,                  -- queued | running | waiting | ok | error | timeout | aborted
      run_class text not null,              -- main | subagent | cron | nested
      purpose text not null,                -- message | exchange_turn | exchange_announce | task | spawn_announce
      exchange_id text,                     -- exchange it is a turn of
      spawn_key text,                       -- child of the spawn it belongs to
      root_run_id text not null,            -- root of the message tree
      hops integer not null,                -- routed messages since the root
      parent_run_id text,                   -- run that caused it
      deliver integer not null,             -- 0 | 1: the reply goes to a chat
      route_json text,                      -- Route, null = the session's last
      options_json text,                    -- RunOptions
      accepted_at bigint not null,          -- epoch ms
      started_at bigint,                    -- epoch ms, null until claimed
      ended_at bigint,                      -- epoch ms
      timeout_ms bigint not null,           -- from claim, 0 = none
      deadline_at bigint,                   -- epoch ms
      attempts integer not null,            -- interrupted ones since the transcript advanced
      reply text,                           -- visible reply, null until ended
      error text,                           -- what went wrong
      model text,                           -- provider/id that ran
      input_tokens bigint not null,         -- sum over its model calls
      output_tokens bigint not null,        -- sum over its model calls
      cache_read_tokens bigint not null,    -- sum over its model calls
      cache_write_tokens bigint not null,   -- sum over its model calls
      cost_usd double precision,            -- US dollars, null = unpriced or unknown
      usage_known integer not null,         -- 0 | 1
      merged_into text                      -- run whose outcome it takes
    )`,
    // runs.nextQueued and the class at the head of a lane
    `create index runs_queued on runs (session_key, seq) where state = 'queued'`,
    // runs.countByState
    `create index runs_state on runs (state)`,

    `create table lanes (
      session_key ${sortedText} not null primary key, -- one lane per session
      owner text,                           -- boot id, null = free
      epoch bigint not null,                -- grows at each claim
      next_seq bigint not null,             -- seq of the next input
      pending integer not null,             -- unfinished runs, the current one included
      head_class text,                      -- class of the run to go next, of the current one if there is one
      current_run_id text,                  -- run that is claimed, null = none
      state text not null,                  -- idle | queued | running | waiting
      ready_at bigint not null              -- epoch ms: since when its head waits
    )${clusteredTable}`,
    // lanes.claimNext: interrupted lanes first, then the one that has waited longest
    `create index lanes_ready on lanes (head_class, (current_run_id is null), ready_at, session_key)
      where owner is null and pending > 0`,
    // lanes.freeOrphans
    `create index lanes_owner on lanes (owner) where owner is not null`,

    // its primary key serves toolCalls.ofRun
    `create table tool_calls (
      run_id text not null,                 -- run that planned it
      position integer not null,            -- of the assistant message in the run, from 0
      call_index integer not null,          -- of the call in that message, from 0
      call_id text not null,                -- the provider's id; never a key of ours
      name text not null,                   -- tool
      args_json text not null,              -- arguments
      state text not null,                  -- planned | started | finished
      result_json text,                     -- ToolResultMessage once finished
      started_at bigint,                    -- epoch ms
      finished_at bigint,                   -- epoch ms
      primary key (run_id, position, call_index)
    )`,

    `create table waits (
      wait_id text not null primary key,    -- <runId>:<position>:<callIndex>
      waiter_run_id text not null,          -- run that waits
      waiter_key text not null,             -- its session
      target_run_id text not null,          -- run it waits for
      target_key text not null,             -- that run's session
      deadline_at bigint not null,          -- epoch ms
      state text not null,                  -- open | done | timeout | interrupted
      created_at bigint not null,           -- epoch ms
      ended_at bigint                       -- epoch ms
    )`,
    // waits.openOfLane
    `create index waits_open_of_lane on waits (waiter_key) where state = 'open'`,
    // waits.endOfRun
    `create index waits_open_of_run on waits (waiter_run_id) where state = 'open'`,
  ];
}

function followUps({ sortedText }: SqlDialect): string[] {
  return [
    `create table exchanges (
      exchange_id text not null primary key, -- runId of the primary run
      requester_key text not null,          -- session that sent
      target_key text not null,             -- session that was sent to
      requester_run_id text not null,       -- run that sent
      root_run_id text not null,            -- root of the message tree
      hops integer not null,                -- routed messages since the root
      state text not null,                  -- primary | due | turn | announce | done
      max_turns integer not null,           -- reply-back turns allowed
      turns integer not null,               -- reply-back turns done
      request_text text not null,           -- what was sent
      first_reply text,                     -- of the primary run
      latest_reply text,                    -- of the last turn
      end_reason text,                      -- reply_skip | max_turns | empty | error | no_runtime | superseded
      end_detail text,                      -- what went wrong
      created_at bigint not null,           -- epoch ms
      ended_at bigint                       -- epoch ms
    )`,
    // exchanges.dueAfterRun
    `create index exchanges_due on exchanges (requester_run_id) where state = 'due'`,
    // exchanges.openOfPair
    `create index exchanges_open on exchanges (requester_key, target_key) where state <> 'done'`,

    `create table spawns (
      child_key text not null primary key,  -- session that was spawned
      run_id text not null,                 -- the child's first run
      requester_key text not null,          -- its parent
      requester_run_id text,                -- run that spawned it
      task text not null,                   -- what it was asked to do
      label text,                           -- name given to it
      cleanup text not null,                -- keep | delete
      announce_mode text not null,          -- post | relay | template | silent
      archive_after_minutes integer not null, -- 0 = never
      route_json text,                      -- Route captured at spawn
      state text not null,                  -- running | announcing | settled
      created_at bigint not null,           -- epoch ms
      settled_at bigint                     -- epoch ms
    )`,
    // spawns.unsettledOf, sessions.countActiveChildren
    `create index spawns_unsettled on spawns (requester_key) where state <> 'settled'`,

    `create table deliveries (
      delivery_id ${sortedText} not null primary key, -- one part of an outgoing text
      idempotency_key text not null,        -- names the effect
      session_key text not null,            -- whose chat receives it
      channel text not null,                -- chat service
      route_to text,                        -- address
      account_id text,                      -- account it is sent from
      thread_id text,                       -- thread
      run_id text,                          -- run whose text it is
      text text not null,                   -- as sent
      state text not null,                  -- queued | sending | sent | failed | suppressed | unknown
      reason text,                          -- why suppressed, failed or unknown
      attempts integer not null,            -- tries so far
      created_at bigint not null,           -- epoch ms
      updated_at bigint not null            -- epoch ms
    )`,
    // deliveries.insert: an effect is booked once
    `create unique index deliveries_idempotency on deliveries (idempotency_key)`,
    // deliveries.byState
    `create index deliveries_state on deliveries (state, created_at, delivery_id)`,
    // deliveries.ofSession
    `create index deliveries_session on deliveries (session_key, created_at, delivery_id)`,
  ];
}

function jobs({ hasJobs }: SqlDialect): string[] {
  if (!hasJobs) return [];
  return [
    `create table jobs (
      job_id integer not null primary key,  -- order of jobs due at the same time
      job_key text not null,                -- unique among open jobs
      kind text not null,                   -- which handler
      payload_json text not null,           -- for the handler
      run_at bigint not null,               -- epoch ms
      attempts integer not null,            -- failed ones
      last_error text                       -- of the last failed attempt
    )`,
    // jobs.add, jobs.remove, jobs.retry
    `create unique index jobs_key on jobs (job_key)`,
    // jobs.due, jobs.nextRunAt
    `create index jobs_due on jobs (run_at, job_id)`,
  ];
}
