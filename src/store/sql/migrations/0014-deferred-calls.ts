import type { SqlDialect } from '../dialect.ts';

/** Tool calls from outside whose answer is fetched later. */
export function deferredCalls({ sortedText }: SqlDialect): string[] {
  return [
    `create table deferred_calls (
      call_id ${sortedText} not null primary key,
      session_key text not null,            -- session that called
      tool text not null,
      run_ids_json text not null,           -- string[]: the runs that it waits for
      mode text not null,                   -- any | all
      created_at bigint not null,           -- epoch ms
      deadline_at bigint not null,          -- epoch ms: its wait is over
      expires_at bigint not null,           -- epoch ms: it may be removed
      cancelled_at bigint                   -- epoch ms
    )`,
    // calls.pageOf
    'create index deferred_calls_page on deferred_calls (session_key, created_at, call_id)',
    // calls.hasAtLeast
    'create index deferred_calls_kept on deferred_calls (session_key, expires_at)',
    // calls.expired
    'create index deferred_calls_expiry on deferred_calls (expires_at, call_id)',
  ];
}
