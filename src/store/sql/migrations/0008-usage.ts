import type { SqlDialect } from '../dialect.ts';

/** What each model call used and cost, its sums by day, and what is read of an exchange afterwards. */
export function usage({ clusteredTable, sortedText }: SqlDialect): string[] {
  return [
    ...exchanges(),
    // its primary key serves modelCalls.count and modelCalls.ofRun
    `create table model_calls (
      run_id text not null,                 -- run that made it
      position integer not null,            -- order in the run, from 0
      attempt integer not null,             -- attempt of the step, from 1; more after a crash
      model text not null,                  -- provider/id that was asked
      outcome text not null,                -- ok | error | aborted | unknown
      usage_known integer not null,         -- 0 | 1: the model said what it used
      input_tokens bigint not null,         -- without those of the cache
      output_tokens bigint not null,
      cache_read_tokens bigint not null,
      cache_write_tokens bigint not null,
      cost_nanos bigint,                    -- billionths of a US dollar, null = unpriced or unknown
      at bigint not null,                   -- epoch ms of its commit
      primary key (run_id, position)
    )${clusteredTable}`,
    // its primary key serves usageDays.page of a session, and by session
    `create table usage_days (
      session_key ${sortedText} not null,   -- whose runs
      day integer not null,                 -- days since 1970-01-01, UTC
      model ${sortedText} not null,         -- provider/id
      agent_id text not null,               -- owner of the session
      root_key ${sortedText} not null,      -- topmost session above it
      calls bigint not null,                -- model calls
      unknown_calls bigint not null,        -- of these: nobody knows what they used
      unpriced_calls bigint not null,       -- of these: the model had no prices
      input_tokens bigint not null,
      output_tokens bigint not null,
      cache_read_tokens bigint not null,
      cache_write_tokens bigint not null,
      cost_nanos bigint not null,           -- of the calls whose cost is known
      purged_calls bigint not null default 0, -- of the calls: their rows went with their run
      primary key (session_key, day, model)
    )${clusteredTable}`,
    // usageDays.page of a tree, and by session
    `create index usage_days_of_root on usage_days (root_key, session_key, day, model)`,
    // usageDays.page of everything
    `create index usage_days_by_day on usage_days (day, session_key, model)`,
    ...backfill(),
  ];
}

function exchanges(): string[] {
  return [
    `alter table exchanges add column no_announce text /* why it has no announce turn */`,
    // exchanges.pageOf
    `create index exchanges_of_requester on exchanges (requester_key, created_at, exchange_id)`,
    `create index exchanges_of_target on exchanges (target_key, created_at, exchange_id)`,
  ];
}

/** Of runs before this migration only the sums are known: each stands as one call. */
function backfill(): string[] {
  return [
    `insert into model_calls (run_id, position, attempt, model, outcome, usage_known, input_tokens,
        output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, at)
      select run_id, 0, 1, coalesce(model, 'unknown'), 'ok', 1, input_tokens, output_tokens,
        cache_read_tokens, cache_write_tokens, cast(round(cost_usd * 1000000000) as bigint),
        coalesce(ended_at, started_at, accepted_at)
      from runs where usage_known = 1`,
    `insert into usage_days (session_key, day, model, agent_id, root_key, calls, unknown_calls,
        unpriced_calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos)
      select runs.session_key, calls.at / 86400000, calls.model, sessions.agent_id, sessions.root_key,
        count(*), 0, sum(case when calls.cost_nanos is null then 1 else 0 end), sum(calls.input_tokens),
        sum(calls.output_tokens), sum(calls.cache_read_tokens), sum(calls.cache_write_tokens),
        coalesce(sum(calls.cost_nanos), 0)
      from model_calls calls join runs on runs.run_id = calls.run_id
        join sessions on sessions.key = runs.session_key
      group by runs.session_key, calls.at / 86400000, calls.model, sessions.agent_id, sessions.root_key`,
  ];
}
