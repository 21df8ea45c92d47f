/**
 * Hot queries search an index, in its order. Asked on tables of some thousand rows with their
 * statistics and under the settings of the store, which switches other scans off. Due jobs are
 * found by the queries of graphile-worker itself.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import pg from 'pg';
import { RUN_CLASSES } from '../../protocol/words.ts';
import { silentLogger } from '../../util/logger.ts';
import type { SqlConnection, SqlResult, SqlValue } from '../sql/connection.ts';
import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import type { SessionScope } from '../session-repository.ts';
import type { UsageScope } from '../usage-repository.ts';
import { GraphileJobs } from './graphile-jobs.ts';
import { READY_LANE } from './membership.ts';
import { openPostgresStore } from './open-postgres-store.ts';
import { BY_INDEX } from './pg-connection.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { startPostgres } from './postgres-server.suite.ts';

const ROWS = 4000;
const FILL = [
  `insert into sessions (key, agent_id, kind, session_id, input_tokens, output_tokens, system_sent,
      aborted_last_run, root_key, spawn_depth, created_at, updated_at, label, archived_at, last_channel, last_to)
    select 'key ' || n, 'agent ' || n % 200, 'main', 'session ' || n, 0, 0, 0, 0, 'root ' || n % 50, 0, n, n,
      case when n % 10 = 0 then 'label ' || n end, case when n % 5 = 0 then n end,
      case when n % 2 = 0 then 'discord' else 'webchat' end, 'chat ' || n
    from generate_series(1, ${ROWS}) n`,
  `insert into session_ancestors (session_key, ancestor_key, updated_at, archived_at)
    select key, 'key ' || created_at % 20, updated_at, archived_at from sessions where created_at > 20`,
  `update sessions set deleted_at = created_at where created_at % 15 = 0`,
  `update sessions set archive_at = created_at where created_at % 7 = 0`,
  `insert into windows (session_id, session_key, started_at, next_seq, ended_at, deleted_at, purge_at)
    select 'session ' || n, 'key ' || n, n, 1, case when n % 2 = 0 then n end,
      case when n % 4 = 0 then n end, case when n % 8 = 0 then n end from generate_series(1, ${ROWS}) n`,
  `insert into entries (session_id, seq, entry_id, type, role, json, created_at)
    select 'session ' || n % 20, n, 'entry ' || n, 'message',
      case when n % 3 = 0 then 'toolResult' else 'user' end, '{}', n from generate_series(1, ${ROWS}) n`,
  `insert into search_entries (session_id, seq, words, terms)
    select 'session ' || n % 20, n, 2, ('word' || n || ':1 common:2')::tsvector
    from generate_series(1, ${ROWS}) n`,
  `insert into lanes (session_key, owner, epoch, next_seq, pending, head_class, state, ready_at)
    select 'key ' || n, case when n % 4 = 0 then 'gateway ' || n % 3 end, 1, 1, n % 2,
      case when n % 2 = 1 then 'main' end, 'queued', n from generate_series(1, ${ROWS}) n`,
  // what waits for clients is in the index, and no claim looks at it
  `insert into lanes (session_key, epoch, next_seq, pending, head_class, state, ready_at)
    select 'client ' || n, 1, 1, 1, 'inbox', 'queued', n from generate_series(1, ${ROWS}) n`,
  'update lanes set turn_at = ready_at, root_key = session_key',
  `insert into runs (run_id, session_key, seq, state, run_class, purpose, root_run_id, hops, deliver,
      accepted_at, timeout_ms, attempts, input_tokens, output_tokens, cache_read_tokens,
      cache_write_tokens, usage_known)
    select 'run ' || n, 'key ' || n % 100, n, case when n % 9 = 0 then 'queued' else 'ok' end, 'main',
      'message', 'run ' || n, 0, 0, n, 0, 0, 0, 0, 0, 0, 0 from generate_series(1, ${ROWS}) n`,
  `insert into inputs (input_id, session_key, seq, kind, text, state, root_run_id, accepted_at,
      idempotency_scope, idempotency_key)
    select 'run ' || n, 'key ' || n % 100, n, 'message', '', case when n % 9 = 0 then 'pending' else 'appended' end,
      'run ' || n, n, 'operator', 'key ' || n from generate_series(1, ${ROWS}) n`,
  `insert into inputs (input_id, session_key, seq, kind, text, state, root_run_id, accepted_at)
    select 'note ' || n, 'key ' || n % 100, ${ROWS} + n, 'note', '', 'appended', 'run ' || n, n
    from generate_series(1, ${ROWS}) n`,
  `insert into tool_calls (run_id, position, call_index, call_id, name, args_json, state)
    select 'run ' || n / 4, n % 4, 0, 'call', 'read', '{}', 'finished' from generate_series(1, ${ROWS}) n`,
  `update tool_calls set held_json = '{}' where run_id like '%77'`,
  `insert into attachments (folder_id, child_key, agent_id, files_json, state, created_at)
    select 'folder ' || n, 'key ' || n, 'agent', '{}', 'kept', n from generate_series(1, ${ROWS}) n`,
  `insert into deferred_calls (call_id, session_key, tool, run_ids_json, mode, created_at, deadline_at, expires_at)
    select 'call ' || n, 'key ' || n % 100, 'sessions_wait', '[]', 'all', n, n, n from generate_series(1, ${ROWS}) n`,
  `insert into waits (wait_id, waiter_run_id, waiter_key, target_run_id, target_key, deadline_at, state, created_at)
    select 'wait ' || n, 'run ' || n, 'key ' || n % 100, 'run ' || n, 'key ' || n % 90, n, 'done', n
    from generate_series(1, ${ROWS}) n`,
  `insert into spawns (child_key, run_id, requester_key, task, cleanup, announce_mode, archive_after_minutes,
      state, created_at)
    select 'key ' || n, 'run ' || n, 'key ' || n % 50, '', 'keep', 'post', 60, 'settled', n
    from generate_series(1, ${ROWS}) n`,
  `insert into deliveries (delivery_id, idempotency_key, session_key, channel, text, state, attempts,
      created_at, updated_at, route_key, route_seq, text_key)
    select 'delivery ' || n, n, 'key ' || n % 100, 'webchat', '', case when n % 50 = 0 then 'queued' else 'sent' end,
      n % 3, n, n, 'route ' || n % 100, n, 'text ' || n / 2 from generate_series(1, ${ROWS}) n`,
  `insert into audit (id, at, actor, action, subject_kind, subject_id, session_key)
    select 'line ' || n, n, 'operator', 'deliveries.retry', 'delivery', 'delivery ' || n % 200, 'key ' || n % 100
    from generate_series(1, ${ROWS}) n`,
  `insert into exchanges (exchange_id, requester_key, target_key, requester_run_id, root_run_id, hops, state,
      max_turns, turns, request_text, created_at)
    select 'exchange ' || n, 'key ' || n % 100, 'key ' || n % 90, 'run ' || n, 'run ' || n, 1, 'done', 5, 0,
      '', n from generate_series(1, ${ROWS}) n`,
  `insert into model_calls (run_id, position, attempt, model, outcome, usage_known, input_tokens,
      output_tokens, cache_read_tokens, cache_write_tokens, at)
    select 'run ' || n / 4, n % 4, 1, 'model', 'ok', 1, 1, 1, 0, 0, n from generate_series(1, ${ROWS}) n`,
  `insert into usage_days (session_key, day, model, agent_id, root_key, calls, unknown_calls,
      unpriced_calls, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos)
    select 'key ' || n % 400, n / 400, 'model', 'agent', 'root ' || n % 50, 1, 0, 0, 1, 1, 0, 0, 1
    from generate_series(1, ${ROWS}) n`,
  `insert into budgets (owner_key, spent_tokens, spent_nanos, spent_runs, spent_ms, reserved_tokens,
      reserved_nanos, going, created_at)
    select 'key ' || n, 0, 0, 0, 0, 0, 0, 0, n from generate_series(1, ${ROWS}) n`,
  `insert into budget_holds (run_id, owner_key, tokens, nanos)
    select 'run ' || n, 'key ' || n % 100, 0, 0 from generate_series(1, ${ROWS}) n`,
  `insert into devices (id, public_key, name, platform, scopes_json, approved_by, approved_at, revoked_at)
    select 'device ' || n, '', '', '', '[]', 'operator', n, case when n % 5 = 0 then n end
    from generate_series(1, ${ROWS}) n`,
  `insert into pairings (id, device_id, public_key, name, platform, address, scopes_json, created_at, expires_at)
    select 'pairing ' || n, 'device ' || n, '', '', '', '', '[]', n, n from generate_series(1, ${ROWS}) n`,
  'analyze',
];

const server = await startPostgres();
const url = await server.createDatabase('plans');
await (await openPostgresStore({ url, logger: silentLogger, bootId: 'made it' })).close();
for (const statement of FILL) await server.query(url, statement);
const client = new pg.Client(url);
await client.connect();
await client.query(BY_INDEX.replaceAll('set local', 'set'));
after(async () => {
  await client.end();
  await server.stop();
});

/** Explains what it is asked and answers with the first row of a made-up result. */
class ExplainingConnection implements SqlConnection {
  readonly plans: string[] = [];

  async query(sql: string, params: readonly SqlValue[]): Promise<SqlResult> {
    const { rows } = await client.query<Record<string, string>>(`explain (costs off) ${sql}`, [
      ...params,
    ]);
    this.plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return { rows: [], changes: 0 };
  }
}

async function planOf(ask: (tx: SqlTx) => Promise<unknown>): Promise<string> {
  const connection = new ExplainingConnection();
  const unit = new SqlUnit(connection, postgresDialect, 1);
  await ask(new SqlTx(unit, new GraphileJobs(unit))).catch(() => {});
  return connection.plans.join('\n');
}

const scan = (scope: SessionScope, archived: boolean) => (tx: SqlTx) =>
  tx.sessions.scan({ scope, archived, cursor: { updatedAt: 3000, key: 'k' }, limit: 50 });
const usagePage = (scope: UsageScope) => (tx: SqlTx) =>
  tx.usage.page({ scope, after: { sessionKey: 'key 9', day: 3, model: 'm' }, limit: 5 });
const tail = (includeTools: boolean) => (tx: SqlTx) =>
  tx.entries.tail({ sessionId: 'session 1', includeTools, beforeSeq: 3000, limit: 5 });

/** A slow read, which may take a bitmap from an index. */
const find = (term: string) => async (tx: SqlTx) => {
  await client.query('set enable_bitmapscan = on');
  const units = [{ terms: [term], isPrefix: false }];
  const query = { units, scopes: [{ type: 'everything' as const }], keys: [] };
  await tx.search.find({ ...query, before: undefined, limit: 5 });
  await client.query('set enable_bitmapscan = off');
};

const searches: [name: string, ask: (tx: SqlTx) => Promise<unknown>, index: RegExp][] = [
  ['sessions.scan everything', scan({ type: 'everything' }, false), /using sessions_live on/],
  ['sessions.scan archived', scan({ type: 'everything' }, true), /using sessions_archived on/],
  [
    'sessions.scan agent',
    scan({ type: 'agent', agentId: 'agent 1' }, false),
    /using sessions_live_of_agent on/,
  ],
  [
    'sessions.scan below',
    scan({ type: 'below', ancestorKey: 'key 1' }, false),
    /session_ancestors_live on session_ancestors below\n +Index Cond: .*ancestor_key = .*AND.*ROW\(updated_at, session_key\) </,
  ],
  [
    'sessions.labelledBelow',
    (tx) => tx.sessions.labelledBelow({ label: 'label 10', ancestorKey: 'key 1', limit: 2 }),
    /using sessions_label on|session_ancestors_live on/,
  ],
  [
    'sessions.findByLabel',
    (tx) => tx.sessions.findByLabel({ label: 'label 10', limit: 2 }),
    /using sessions_label on/,
  ],
  [
    'sessions.findByChat',
    (tx) =>
      tx.sessions.findByChat({
        channel: 'discord',
        to: 'chat 10',
        accountId: null,
        threadId: null,
        limit: 2,
      }),
    /using sessions_chat on/,
  ],
  ['sessions.clocks', (tx) => tx.sessions.clocks('key 2', 9), /using sessions_clock on/],
  [
    'sessions.archivedBefore',
    (tx) => tx.sessions.archivedBefore({ at: 900, limit: 9 }),
    /using sessions_put_away on[^]*Index Cond: .*archived_at <= /,
  ],
  [
    'sessions.hasDescendants',
    (tx) => tx.sessions.hasDescendants('key 2'),
    /session_ancestors[^]*Index Cond: .*ancestor_key = /,
  ],
  [
    'windows.ofKey',
    (tx) => tx.windows.ofKey({ sessionKey: 'key 9', cursor: undefined, limit: 9 }),
    /using windows_of_key on[^]*Index Cond: .*session_key = .*ROW\(started_at, /,
  ],
  [
    'windows.endedBefore',
    (tx) => tx.windows.endedBefore({ at: 900, limit: 9 }),
    /using windows_ended on[^]*Index Cond: .*ended_at <= /,
  ],
  [
    'windows.deletedBefore',
    (tx) => tx.windows.deletedBefore({ at: 900, limit: 9 }),
    /using windows_deleted on[^]*Index Cond: .*deleted_at <= /,
  ],
  ['windows.condemned', (tx) => tx.windows.condemned({ limit: 1 }), /using windows_condemned on/],
  ['windows.get', (tx) => tx.windows.get('session 9'), /using windows_pkey on/],
  ['windows.countChild', (tx) => tx.windows.countChild('session 9'), /using windows_pkey on/],
  [
    'windows.markDeleted',
    (tx) => tx.windows.markDeleted('key 9', 9),
    /using windows_of_key on[^]*Index Cond: .*session_key = /,
  ],
  [
    'purge.entries',
    (tx) => tx.purge.entries('session 1', 9),
    /using entries_pkey on[^]*Index Cond: .*session_id = /,
  ],
  [
    'purge.runs of a window',
    (tx) => tx.purge.runs({ sessionKey: 'key 9', sessionId: 'session 9', until: 900 }, 9),
    /using runs_session on[^]*Index Cond: .*session_key = .*accepted_at <= /,
  ],
  [
    'purge.runs of a session',
    (tx) => tx.purge.runs({ sessionKey: 'key 9', sessionId: undefined, until: 900 }, 9),
    /using runs_session on[^]*Index Cond: .*session_key = .*accepted_at <= /,
  ],
  [
    'purge.toolCalls',
    (tx) => tx.purge.toolCalls('run 9'),
    /using tool_calls_pkey on[^]*Index Cond: .*run_id = /,
  ],
  [
    'purge.modelCalls',
    (tx) => tx.purge.modelCalls({ runId: 'run 9', sessionKey: 'key 9' }, 9),
    /using model_calls_pkey on[^]*Index Cond: .*run_id = /,
  ],
  ['purge.run', (tx) => tx.purge.run('run 9'), /using waits_of_run on/],
  [
    'purge.notes',
    (tx) => tx.purge.notes({ sessionKey: 'key 9', until: 900, sessionId: 's' }, 9),
    /using inputs_notes on[^]*Index Cond: .*session_key = /,
  ],
  [
    'purge.deliveries',
    (tx) => tx.purge.deliveries({ sessionKey: 'key 9', until: 900 }, 9),
    /using deliveries_session on[^]*Index Cond: .*session_key = .*created_at <= /,
  ],
  ['purge.session', (tx) => tx.purge.session('key 9'), /using spawns_pkey on/],
  [
    'deliveries.hasOpen',
    (tx) => tx.deliveries.hasOpen('key 9'),
    /using deliveries_open_of_session on/,
  ],
  [
    'entries.tailSizes',
    (tx) =>
      tx.entries.tailSizes({
        sessionId: 'session 1',
        includeTools: false,
        beforeSeq: 3000,
        limit: 5,
      }),
    /using entries_chat on/,
  ],
  [
    'entries.page',
    (tx) => tx.entries.page({ sessionId: 'session 1', afterSeq: 2990, limit: 5 }),
    /using entries_pkey on/,
  ],
  [
    'entries.pageSizes',
    (tx) => tx.entries.pageSizes({ sessionId: 'session 1', afterSeq: 2990, limit: 5 }),
    /using entries_pkey on/,
  ],
  [
    'windows.following',
    (tx) => tx.windows.following({ sessionKey: 'key 9', cursor: undefined }),
    /using windows_of_key on[^]*Index Cond: .*session_key = .*ROW\(started_at, /,
  ],
  ['entries.tail', tail(false), /using entries_chat on/],
  ['entries.tail with tools', tail(true), /using entries_pkey on/],
  ['entries.context', (tx) => tx.entries.context('session 1'), /using entries_compaction on/],
  [
    'inputs.findByIdempotencyKey',
    (tx) => tx.inputs.findByIdempotencyKey('operator', 'key 1'),
    /using inputs_idempotency on/,
  ],
  ['inputs.pending', (tx) => tx.inputs.pending('key 9', 5), /using inputs_pending on/],
  ['inputs.pendingNotes', (tx) => tx.inputs.pendingNotes('key 9', 5), /using inputs_pending on/],
  ['runs.nextQueued', (tx) => tx.runs.nextQueued('key 9'), /using runs_queued on/],
  ['runs.latestOf', (tx) => tx.runs.latestOf('key 9'), /using runs_session on/],
  [
    'runs.pageOfState',
    (tx) => tx.runs.pageOfState({ state: 'ok', cursor: undefined, limit: 9 }),
    /using runs_state on/,
  ],
  [
    'lanes.claimNext',
    (tx) => tx.lanes.claimNext({ runClass: 'main', owner: 'boot' }),
    /LockRows\n.*using lanes_ready on[^]*Index Cond: .*head_class = /,
  ],
  [
    'lanes.nextReadyAt',
    (tx) => tx.lanes.nextReadyAt('main', 3000),
    /using lanes_ready on[^]*Index Cond: .*head_class = .*turn_at > /,
  ],
  ['budgets.get', (tx) => tx.budgets.get('key 9'), /using budgets_pkey on/],
  ['budgets.above', (tx) => tx.budgets.above('key 9'), /using budgets_pkey on/],
  ['budgets.holdsOf', (tx) => tx.budgets.holdsOf('run 9'), /using budget_holds_pkey on/],
  ['usage.callsOf', (tx) => tx.usage.callsOf('run 9'), /using model_calls_pkey on/],
  [
    'usage.page by day',
    usagePage({ type: 'everything', order: 'day' }),
    /using usage_days_by_day on[^]*Index Cond: \(ROW\(day, /,
  ],
  [
    'usage.page by session',
    usagePage({ type: 'everything', order: 'session' }),
    /using usage_days_pkey on[^]*Index Cond: \(ROW\(session_key, /,
  ],
  [
    'usage.page of a session',
    usagePage({ type: 'session', sessionKey: 'key 9' }),
    /using usage_days_pkey on[^]*Index Cond: .*session_key = .*ROW\(day, /,
  ],
  [
    'usage.page of a root',
    usagePage({ type: 'root', rootKey: 'root 9' }),
    /using usage_days_of_root on[^]*Index Cond: .*root_key = .*ROW\(session_key, /,
  ],
  [
    'exchanges.pageOf',
    (tx) => tx.exchanges.pageOf({ sessionKey: 'key 9', cursor: undefined, limit: 9 }),
    /using exchanges_of_requester on[^]*using exchanges_of_target on/,
  ],
  ['search.find, a frequent word', find('common'), /Scan Backward using search_entries_pkey/],
  ['runs.queued', (tx) => tx.runs.queued('key 9', 9), /using runs_queued on/],
  ['spawns.hasUnsettled', (tx) => tx.spawns.hasUnsettled('key 9'), /using spawns_unsettled on/],
  ['deliveries.ofText', (tx) => tx.deliveries.ofText('text 9'), /using deliveries_text on/],
  ['deliveries.headOfRoute', (tx) => tx.deliveries.headOfRoute('route 50'), /deliveries_open on/],
  ['deliveries.lastOfRoute', (tx) => tx.deliveries.lastOfRoute('route 50'), /deliveries_route on/],
  [
    'deliveries.pageOfState',
    (tx) => tx.deliveries.pageOfState({ state: 'sent', cursor: undefined, limit: 9 }),
    /using deliveries_state on/,
  ],
  [
    'deliveries.pageOfState, retrying',
    (tx) => tx.deliveries.pageOfState({ state: 'retrying', cursor: undefined, limit: 9 }),
    /using deliveries_retrying on/,
  ],
  [
    'deliveries.pageOfSession',
    (tx) => tx.deliveries.pageOfSession({ sessionKey: 'key 9', cursor: undefined, limit: 9 }),
    /using deliveries_session on/,
  ],
  [
    'deliveries.pageOfRoute',
    (tx) => tx.deliveries.pageOfRoute({ routeKey: 'route 9', beforeSeq: 900, limit: 9 }),
    /using deliveries_route on/,
  ],
  [
    'audit.page',
    (tx) => tx.audit.page({ cursor: { at: 900, id: '' }, limit: 9 }),
    /using audit_time on/,
  ],
  [
    'audit.page of a session',
    (tx) => tx.audit.page({ of: { sessionKey: 'key 9' }, cursor: undefined, limit: 9 }),
    /using audit_session on/,
  ],
  [
    'audit.page of an action',
    (tx) => tx.audit.page({ of: { action: 'x' }, cursor: { at: 900, id: '' }, limit: 9 }),
    /using audit_action on[^]*Index Cond: .*action = /,
  ],
  [
    'audit.page of an actor',
    (tx) => tx.audit.page({ of: { actor: 'x' }, cursor: { at: 900, id: '' }, limit: 9 }),
    /using audit_actor on[^]*Index Cond: .*actor = /,
  ],
  [
    'audit.page of a subject',
    (tx) =>
      tx.audit.page({
        of: { subjectKind: 'delivery', subjectId: 'delivery 9' },
        cursor: undefined,
        limit: 9,
      }),
    /using audit_subject on/,
  ],
  [
    'devices.page',
    (tx) => tx.devices.page({ cursor: { approvedAt: 900, id: '' }, limit: 9 }),
    /using devices_approved on/,
  ],
  ['devices.oldestRevoked', (tx) => tx.devices.oldestRevoked(), /using devices_revoked on/],
  ['pairings.open', (tx) => tx.pairings.open(900, 9), /using pairings_expiry on/],
  ['toolCalls.dropHeld', (tx) => tx.toolCalls.dropHeld('run 9'), /using tool_calls_held/],
  ['attachments.get', (tx) => tx.attachments.get('folder 9'), /using attachments_pkey/],
  [
    'attachments.ofChild',
    (tx) => tx.attachments.ofChild('key 9'),
    /using attachments_child_key_key/,
  ],
  ['calls.get', (tx) => tx.calls.get('call 9'), /using deferred_calls_pkey/],
  [
    'calls.pageOf',
    (tx) => tx.calls.pageOf({ sessionKey: 'key 9', cursor: undefined, limit: 9, now: 1 }),
    /using deferred_calls_page/,
  ],
  [
    'calls.hasAtLeast',
    (tx) => tx.calls.hasAtLeast({ sessionKey: 'key 9', count: 9, now: 1 }),
    /using deferred_calls_kept/,
  ],
  ['calls.expired', (tx) => tx.calls.expired(90, 9), /using deferred_calls_expiry/],
  ['pairings.ofDevice', (tx) => tx.pairings.ofDevice('device 9'), /using pairings_device_id_key/],
  ['deliveries.byState', (tx) => tx.deliveries.byState('queued', 9), /using deliveries_state on/],
];

describe('query plans on Postgres', () => {
  for (const [name, ask, index] of searches) {
    it(`[PG9] ${name} is an index search, without a scan and without a sort`, async () => {
      const plan = await planOf(ask);
      assert.match(plan, index);
      assert.doesNotMatch(plan, /Seq Scan|Sort/, plan);
    });
  }

  it('[PG9, IB10] the look for a ready lane passes over what waits for clients', async () => {
    const connection = new ExplainingConnection();
    await connection.query(READY_LANE, []);
    const plan = connection.plans.join();
    const searches = plan.match(/using lanes_ready on .*\n.*Index Cond: .*head_class = /g);
    assert.equal(searches?.length, RUN_CLASSES.length, plan);
    assert.doesNotMatch(plan, /Seq Scan|Sort/, plan);
  });

  it('[PG9] search.find takes what has a rare word from the index of words, and puts it in order', async () => {
    const plan = await planOf(find('word9'));
    assert.match(plan, /Bitmap Index Scan on search_entries_terms/);
    assert.doesNotMatch(plan, /Seq Scan/, plan);
  });
});
