import type { SqlDialect } from '../dialect.ts';

/** What trees of sessions may use, what they have used, and what runs have set aside for the call under way. */
export function budgets({ clusteredTable, sortedText }: SqlDialect): string[] {
  return [
    // its primary key serves budgets.get and budgets.above
    `create table budgets (
      owner_key ${sortedText} not null primary key, -- session that it was given to; counts all below
      limit_tokens bigint,                  -- null = no limit, here and below
      limit_nanos bigint,                   -- billionths of a US dollar
      limit_runs bigint,
      limit_ms bigint,                      -- time in which any run is going
      spent_tokens bigint not null,
      spent_nanos bigint not null,
      spent_runs bigint not null,
      spent_ms bigint not null,
      reserved_tokens bigint not null,      -- the sum of its holds
      reserved_nanos bigint not null,
      going bigint not null,                -- runs that have holds of it
      counted_to bigint,                    -- epoch ms: its time is counted up to here; null = none is going
      created_at bigint not null            -- epoch ms
    )`,
    // its primary key serves budgets.holdsOf and budgets.dropHolds
    `create table budget_holds (
      run_id text not null,                 -- run that is going
      owner_key ${sortedText} not null,     -- budget that it is under
      tokens bigint not null,               -- set aside for the model call under way
      nanos bigint not null,
      primary key (run_id, owner_key)
    )${clusteredTable}`,
  ];
}
