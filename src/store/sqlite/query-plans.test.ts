import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SqlConnection, SqlResult, SqlValue } from '../sql/connection.ts';
import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import type { SessionScope } from '../session-repository.ts';
import type { UsageScope } from '../usage-repository.ts';
import { migrate } from './migrate.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** Passes queries on and keeps what was asked. */
class RecordingConnection implements SqlConnection {
  readonly asked: { sql: string; params: readonly SqlValue[] }[] = [];
  readonly #inner: SqliteConnection;
  constructor(inner: SqliteConnection) {
    this.#inner = inner;
  }
  query(sql: string, params: readonly SqlValue[]): Promise<SqlResult> {
    this.asked.push({ sql, params });
    return this.#inner.query(sql, params);
  }
}

/** Returns the steps of the plan of every query that `ask` runs on an empty store. */
async function plansOf(ask: (tx: SqlTx) => Promise<unknown>): Promise<string[]> {
  const db = new SqliteConnection(':memory:', { readOnly: false });
  try {
    migrate(db, { now: () => 1 });
    const recorder = new RecordingConnection(db);
    await ask(new SqlTx(new SqlUnit(recorder, sqliteDialect, 1)));
    return recorder.asked.flatMap(({ sql, params }) =>
      db.run(`explain query plan ${sql}`, params).rows.map((row) => String(row['detail'])),
    );
  } finally {
    db.close();
  }
}

const scan = (scope: SessionScope, archived: boolean) => (tx: SqlTx) =>
  tx.sessions.scan({ scope, archived, cursor: { updatedAt: 9, key: 'k' }, limit: 200 });
const agent: SessionScope = { type: 'agent', agentId: 'main' };
const below: SessionScope = { type: 'below', ancestorKey: 'k' };
const tail = (includeTools: boolean) => (tx: SqlTx) =>
  tx.entries.tail({ sessionId: 's', includeTools, beforeSeq: 9, limit: 5 });

const usagePage = (scope: UsageScope) => (tx: SqlTx) =>
  tx.usage.page({ scope, after: { sessionKey: 'k', day: 9, model: 'm' }, limit: 5 });

const findNeedle = (tx: SqlTx) =>
  tx.search.find({
    units: [{ terms: ['needle'], isPrefix: false }],
    scopes: [{ type: 'agent', agentId: 'main' }],
    keys: [],
    before: 9,
    limit: 5,
  });

const claimWithTurn = async (tx: SqlTx): Promise<void> => {
  await tx.lanes.addRun('k', 'main', 1);
  await tx.lanes.claimNext({ runClass: 'main', owner: 'boot' });
};

const searches: [name: string, ask: (tx: SqlTx) => Promise<unknown>, index: RegExp][] = [
  ['sessions.scan everything', scan({ type: 'everything' }, false), /INDEX sessions_live \(/],
  ['sessions.scan archived', scan({ type: 'everything' }, true), /INDEX sessions_archived \(/],
  ['sessions.scan agent', scan(agent, false), /INDEX sessions_live_of_agent \(agent_id=\? AND/],
  ['sessions.scan agent archived', scan(agent, true), /INDEX sessions_archived_of_agent \(/],
  [
    '[SL13] sessions.scan below',
    scan(below, false),
    /INDEX session_ancestors_live \(ancestor_key=\? AND \(updated_at,session_key\)<\(\?,\?\)\)/,
  ],
  [
    '[SL13] sessions.scan below, archived',
    scan(below, true),
    /INDEX session_ancestors_archived \(ancestor_key=\? AND/,
  ],
  [
    'sessions.get',
    (tx) => tx.sessions.get('k'),
    /sessions USING INDEX sqlite_autoindex_sessions_1/,
  ],
  ['sessions.clocks', (tx) => tx.sessions.clocks('k', 9), /INDEX sessions_clock \(/],
  [
    'sessions.archivedBefore',
    (tx) => tx.sessions.archivedBefore({ at: 9, limit: 9 }),
    /INDEX sessions_put_away \(\(archived_at,key\)>\(\?,\?\) AND archived_at<\?/,
  ],
  [
    'sessions.hasDescendants',
    (tx) => tx.sessions.hasDescendants('k'),
    /session_ancestors_below \(ancestor_key=\?\)/,
  ],
  [
    'windows.ofKey',
    (tx) => tx.windows.ofKey({ sessionKey: 'k', cursor: undefined, limit: 9 }),
    /INDEX windows_of_key \(session_key=\? AND \(started_at,session_id\)</,
  ],
  [
    'windows.endedBefore',
    (tx) => tx.windows.endedBefore({ at: 9, limit: 9 }),
    /INDEX windows_ended \(\(ended_at,session_id\)>\(\?,\?\) AND ended_at</,
  ],
  [
    'windows.deletedBefore',
    (tx) => tx.windows.deletedBefore({ at: 9, limit: 9 }),
    /INDEX windows_deleted \(\(deleted_at,session_id\)>\(\?,\?\) AND deleted_at</,
  ],
  [
    'windows.condemned',
    (tx) => tx.windows.condemned({ limit: 1 }),
    /INDEX windows_condemned \(\(purge_at,session_id\)>\(\?,\?\)\)/,
  ],
  [
    'windows.get',
    (tx) => tx.windows.get('s'),
    /INDEX sqlite_autoindex_windows_1 \(session_id=\?\)/,
  ],
  [
    'windows.countChild',
    (tx) => tx.windows.countChild('s'),
    /INDEX sqlite_autoindex_windows_1 \(session_id=\?\)/,
  ],
  [
    'windows.markDeleted',
    (tx) => tx.windows.markDeleted('k', 9),
    /INDEX windows_of_key \(session_key=\?\)/,
  ],
  ['purge.entries', (tx) => tx.purge.entries('s', 9), /entries_1 \(session_id=\?\)/],
  [
    'purge.runs',
    (tx) => tx.purge.runs({ sessionKey: 'k', sessionId: 's', until: 9 }, 9),
    /INDEX runs_session \(session_key=\? AND accepted_at<\?\)/,
  ],
  [
    'purge.toolCalls',
    (tx) => tx.purge.toolCalls('r'),
    /tool_calls_1 \(run_id=\? AND position<\?\)/,
  ],
  [
    'purge.modelCalls',
    (tx) => tx.purge.modelCalls({ runId: 'r', sessionKey: 'k' }, 9),
    /model_calls USING PRIMARY KEY \(run_id=\?\)/,
  ],
  ['purge.run', (tx) => tx.purge.run('r'), /INDEX waits_of_run/],
  [
    'purge.notes',
    (tx) => tx.purge.notes({ sessionKey: 'k', until: 9, sessionId: 's' }, 9),
    /INDEX inputs_notes \(session_key=\?\)/,
  ],
  [
    'purge.deliveries',
    (tx) => tx.purge.deliveries({ sessionKey: 'k', until: 9 }, 9),
    /INDEX deliveries_session \(session_key=\? AND created_at<\?\)/,
  ],
  [
    'deliveries.hasOpen',
    (tx) => tx.deliveries.hasOpen('k'),
    /INDEX deliveries_open_of_session \(session_key=\?\)/,
  ],
  ['sessions.getBySessionId', (tx) => tx.sessions.getBySessionId('s'), /windows USING/],
  [
    'sessions.labelledBelow',
    (tx) => tx.sessions.labelledBelow({ label: 'ops', ancestorKey: 'k1', limit: 2 }),
    /INDEX sessions_label \(label=\?\)/,
  ],
  [
    'sessions.findByLabel',
    (tx) => tx.sessions.findByLabel({ label: 'ops', limit: 2 }),
    /INDEX sessions_label \(label=\?\)/,
  ],
  [
    'sessions.findByChat',
    (tx) =>
      tx.sessions.findByChat({
        channel: 'discord',
        to: '1',
        accountId: null,
        threadId: null,
        limit: 2,
      }),
    /INDEX sessions_chat \(last_channel=\? AND last_to=\?\)/,
  ],
  ['sessions.isDescendant', (tx) => tx.sessions.isDescendant('a', 'k'), /PRIMARY KEY/],
  [
    'sessions.countActiveChildren',
    (tx) => tx.sessions.countActiveChildren('k'),
    /spawns_unsettled/,
  ],
  [
    'entries.tailSizes',
    (tx) => tx.entries.tailSizes({ sessionId: 's', includeTools: false, beforeSeq: 9, limit: 5 }),
    /INDEX entries_chat \(session_id=\? AND seq<\?\)/,
  ],
  ['entries.tail', tail(false), /INDEX entries_chat \(session_id=\? AND seq<\?\)/],
  [
    'entries.tail with tools',
    tail(true),
    /INDEX sqlite_autoindex_entries_1 \(session_id=\? AND seq/,
  ],
  [
    'entries.page',
    (tx) => tx.entries.page({ sessionId: 's', afterSeq: 9, limit: 5 }),
    /INDEX sqlite_autoindex_entries_1 \(session_id=\? AND seq>\?\)/,
  ],
  [
    'entries.pageSizes',
    (tx) => tx.entries.pageSizes({ sessionId: 's', afterSeq: 9, limit: 5 }),
    /INDEX sqlite_autoindex_entries_1 \(session_id=\? AND seq>\?\)/,
  ],
  [
    'windows.following',
    (tx) => tx.windows.following({ sessionKey: 'k', cursor: undefined }),
    /INDEX windows_of_key \(session_key=\? AND \(started_at,session_id\)>/,
  ],
  [
    'entries.context',
    (tx) => tx.entries.context('s'),
    /INDEX entries_compaction \(session_id=\?\)/,
  ],
  ['entries.ofRun', (tx) => tx.entries.ofRun('s', 'r'), /INDEX entries_run \(run_id=\?\)/],
  [
    'inputs.findByIdempotencyKey',
    (tx) => tx.inputs.findByIdempotencyKey('s', 'k'),
    /INDEX inputs_idempotency \(idempotency_scope=\? AND idempotency_key=\?\)/,
  ],
  ['inputs.pending', (tx) => tx.inputs.pending('k', 9), /INDEX inputs_pending \(session_key=\?\)/],
  [
    'inputs.pendingNotes',
    (tx) => tx.inputs.pendingNotes('k', 9),
    /INDEX inputs_pending \(session_key=\?\)/,
  ],
  ['inputs.countUnderRoot', (tx) => tx.inputs.countUnderRoot('r'), /INDEX inputs_routed \(/],
  [
    'inputs.countEdge',
    (tx) => tx.inputs.countEdge('r', 'a', 'b'),
    /INDEX inputs_routed \(root_run_id=\? AND kind=\? AND source_key=\? AND session_key=\?\)/,
  ],
  ['sessions.busyBelow', (tx) => tx.sessions.busyBelow('k'), /INDEX session_ancestors_below/],
  ['runs.queuedOf', (tx) => tx.runs.queuedOf('k'), /INDEX runs_queued \(session_key=\?\)/],
  ['runs.latestOf', (tx) => tx.runs.latestOf('k'), /INDEX runs_session \(session_key=\?\)/],
  ['runs.causedBy', (tx) => tx.runs.causedBy('r'), /INDEX runs_caused \(parent_run_id=\?\)/],
  ['runs.stoppedUnder', (tx) => tx.runs.stoppedUnder('c'), /INDEX runs_stopped \(stop_key=\?\)/],
  [
    'runs.pageOfSession',
    (tx) => tx.runs.pageOfSession({ sessionKey: 'k', after: { acceptedAt: 9, seq: 9 }, limit: 9 }),
    /INDEX runs_session \(session_key=\? AND \(accepted_at,seq\)<\(\?,\?\)\)/,
  ],
  [
    'runs.pageOfState',
    (tx) => tx.runs.pageOfState({ state: 'ok', cursor: undefined, limit: 9 }),
    /INDEX runs_state \(state=\? AND \(accepted_at,run_id\)<\(\?,\?\)\)/,
  ],
  ['runs.nextQueued', (tx) => tx.runs.nextQueued('k'), /INDEX runs_queued \(session_key=\?\)/],
  [
    'lanes.claimNext',
    (tx) => tx.lanes.claimNext({ runClass: 'main', owner: 'boot' }),
    /INDEX lanes_ready \(head_class=\?\)/,
  ],
  [
    'lanes.claimNext, the turn that it passes on',
    claimWithTurn,
    /INDEX lanes_of_root \(root_key=\? AND head_class=\? AND turn_at<\?\)/,
  ],
  [
    'lanes.nextReadyAt',
    (tx) => tx.lanes.nextReadyAt('main', 5),
    /INDEX lanes_ready \(head_class=\? AND <expr>=\? AND turn_at>\?\)/,
  ],
  ['inputs.firstPending', (tx) => tx.inputs.firstPending('k', 'summary'), /INDEX inputs_pending/],
  ['runs.queued', (tx) => tx.runs.queued('k', 9), /INDEX runs_queued \(session_key=\?\)/],
  ['runs.mergedInto', (tx) => tx.runs.mergedInto('r'), /INDEX runs_merged \(merged_into=\?\)/],
  ['lanes.freeOrphans', (tx) => tx.lanes.freeOrphans('boot'), /INDEX lanes_owner/],
  ['lanes.states', (tx) => tx.lanes.states(['a', 'b']), /PRIMARY KEY/],
  ['toolCalls.dropHeld', (tx) => tx.toolCalls.dropHeld('r'), /INDEX tool_calls_held \(run_id=\?\)/],
  [
    'attachments.get',
    (tx) => tx.attachments.get('f'),
    /sqlite_autoindex_attachments_1 \(folder_id=\?\)/,
  ],
  [
    'attachments.ofChild',
    (tx) => tx.attachments.ofChild('k'),
    /sqlite_autoindex_attachments_2 \(child_key=\?\)/,
  ],
  ['calls.get', (tx) => tx.calls.get('c'), /sqlite_autoindex_deferred_calls_1 \(call_id=\?\)/],
  [
    'calls.pageOf',
    (tx) => tx.calls.pageOf({ sessionKey: 'k', cursor: undefined, limit: 9, now: 1 }),
    /INDEX deferred_calls_page \(session_key=\? AND \(created_at,call_id\)<\(\?,\?\)\)/,
  ],
  [
    'calls.hasAtLeast',
    (tx) => tx.calls.hasAtLeast({ sessionKey: 'k', count: 9, now: 1 }),
    /INDEX deferred_calls_kept \(session_key=\? AND expires_at>\?\)/,
  ],
  [
    'calls.expired',
    (tx) => tx.calls.expired(9, 9),
    /INDEX deferred_calls_expiry \(expires_at<\?\)/,
  ],
  ['toolCalls.ofRun', (tx) => tx.toolCalls.ofRun('r'), /sqlite_autoindex_tool_calls_1/],
  ['waits.openOfLane', (tx) => tx.waits.openOfLane('k'), /INDEX waits_open_of_lane/],
  ['waits.endOfRun', (tx) => tx.waits.endOfRun('r', 1), /INDEX waits_open_of_run/],
  ['exchanges.dueAfterRun', (tx) => tx.exchanges.dueAfterRun('r'), /INDEX exchanges_due/],
  ['exchanges.openOfPair', (tx) => tx.exchanges.openOfPair('a', 'b'), /INDEX exchanges_open/],
  ['exchanges.openOf', (tx) => tx.exchanges.openOf('a'), /INDEX exchanges_open_of_target/],
  [
    'exchanges.pageOf, as requester',
    (tx) => tx.exchanges.pageOf({ sessionKey: 'a', cursor: undefined, limit: 9 }),
    /INDEX exchanges_of_requester \(requester_key=\? AND \(created_at,exchange_id\)<\(\?,\?\)\)/,
  ],
  [
    'exchanges.pageOf, as target',
    (tx) => tx.exchanges.pageOf({ sessionKey: 'a', cursor: undefined, limit: 9 }),
    /INDEX exchanges_of_target \(target_key=\? AND \(created_at,exchange_id\)<\(\?,\?\)\)/,
  ],
  ['usage.callsOf', (tx) => tx.usage.callsOf('r'), /model_calls USING PRIMARY KEY \(run_id=\?\)/],
  [
    'usage.page by day',
    usagePage({ type: 'everything', order: 'day' }),
    /INDEX usage_days_by_day \(\(day,session_key,model\)>\(\?,\?,\?\)\)/,
  ],
  [
    'usage.page by session',
    usagePage({ type: 'everything', order: 'session' }),
    /usage_days USING PRIMARY KEY \(\(session_key,day,model\)>/,
  ],
  [
    'usage.page of a session',
    usagePage({ type: 'session', sessionKey: 'k' }),
    /usage_days USING PRIMARY KEY \(session_key=\? AND \(day,model\)>/,
  ],
  [
    'usage.page of a root',
    usagePage({ type: 'root', rootKey: 'k' }),
    /INDEX usage_days_of_root \(root_key=\? AND \(session_key,day,model\)>/,
  ],
  [
    'budgets.get',
    (tx) => tx.budgets.get('k'),
    /budgets USING [A-Z ]*INDEX sqlite_autoindex_budgets_1/,
  ],
  [
    'budgets.above',
    (tx) => tx.budgets.above('k'),
    /session_ancestors USING PRIMARY KEY \(session_key=\?\)[^]*budgets USING INDEX sqlite_autoindex_budgets_1 \(owner_key=\?\)/,
  ],
  [
    'budgets.holdsOf',
    (tx) => tx.budgets.holdsOf('r'),
    /budget_holds USING PRIMARY KEY \(run_id=\?\)/,
  ],
  ['lanes.hold', (tx) => tx.lanes.hold('k'), /PRIMARY KEY/],
  ['lanes.take', (tx) => tx.lanes.take({ sessionKey: 'k', owner: 'boot' }), /PRIMARY KEY/],
  ['spawns.unsettledOf', (tx) => tx.spawns.unsettledOf('k'), /INDEX spawns_unsettled/],
  ['spawns.hasUnsettled', (tx) => tx.spawns.hasUnsettled('k'), /INDEX spawns_unsettled/],
  [
    'deliveries.byState',
    (tx) => tx.deliveries.byState('queued', 9),
    /INDEX deliveries_state \(state=\?\)/,
  ],
  ['deliveries.ofText', (tx) => tx.deliveries.ofText('t'), /INDEX deliveries_text \(text_key=\?\)/],
  [
    'deliveries.headOfRoute',
    (tx) => tx.deliveries.headOfRoute('r'),
    /INDEX deliveries_open \(route_key=\?\)/,
  ],
  [
    'deliveries.lastOfRoute',
    (tx) => tx.deliveries.lastOfRoute('r'),
    /INDEX deliveries_route \(route_key=\?\)/,
  ],
  [
    'deliveries.pageOfState',
    (tx) => tx.deliveries.pageOfState({ state: 'failed', cursor: undefined, limit: 9 }),
    /INDEX deliveries_state \(state=\? AND \(created_at,delivery_id\)<\(\?,\?\)\)/,
  ],
  [
    'deliveries.pageOfState, retrying',
    (tx) => tx.deliveries.pageOfState({ state: 'retrying', cursor: undefined, limit: 9 }),
    /INDEX deliveries_retrying \(\(created_at,delivery_id\)<\(\?,\?\)\)/,
  ],
  [
    'deliveries.pageOfSession',
    (tx) => tx.deliveries.pageOfSession({ sessionKey: 'k', cursor: undefined, limit: 9 }),
    /INDEX deliveries_session \(session_key=\? AND \(created_at,delivery_id\)<\(\?,\?\)\)/,
  ],
  [
    'deliveries.pageOfRoute',
    (tx) => tx.deliveries.pageOfRoute({ routeKey: 'r', beforeSeq: 9, limit: 9 }),
    /INDEX deliveries_route \(route_key=\? AND route_seq>\? AND route_seq<\?\)/,
  ],
  [
    'audit.page',
    (tx) => tx.audit.page({ cursor: undefined, limit: 9 }),
    /INDEX audit_time \(\(at,id\)<\(\?,\?\)\)/,
  ],
  [
    'audit.page of a session',
    (tx) => tx.audit.page({ of: { sessionKey: 'k' }, cursor: undefined, limit: 9 }),
    /INDEX audit_session \(session_key=\? AND \(at,id\)<\(\?,\?\)\)/,
  ],
  [
    'audit.page of an action',
    (tx) => tx.audit.page({ of: { action: 'x' }, cursor: { at: 900, id: '' }, limit: 9 }),
    /INDEX audit_action \(action=\? AND \(at,id\)<\(\?,\?\)\)/,
  ],
  [
    'audit.page of an actor',
    (tx) => tx.audit.page({ of: { actor: 'x' }, cursor: { at: 900, id: '' }, limit: 9 }),
    /INDEX audit_actor \(actor=\? AND \(at,id\)<\(\?,\?\)\)/,
  ],
  [
    'audit.page of a subject',
    (tx) =>
      tx.audit.page({
        of: { subjectKind: 'delivery', subjectId: 'd' },
        cursor: undefined,
        limit: 9,
      }),
    /INDEX audit_subject \(subject_kind=\? AND subject_id=\? AND \(at,id\)<\(\?,\?\)\)/,
  ],
  [
    'devices.page',
    (tx) => tx.devices.page({ cursor: undefined, limit: 9 }),
    /INDEX devices_approved \(\(approved_at,id\)<\(\?,\?\)\)/,
  ],
  ['devices.oldestRevoked', (tx) => tx.devices.oldestRevoked(), /INDEX devices_revoked/],
  ['pairings.open', (tx) => tx.pairings.open(9, 9), /INDEX pairings_expiry \(expires_at>\?\)/],
  [
    'pairings.ofDevice',
    (tx) => tx.pairings.ofDevice('d'),
    /sqlite_autoindex_pairings_\d \(device_id=\?\)/,
  ],
  ['deliveries.ofSession', (tx) => tx.deliveries.ofSession('k', 9), /INDEX deliveries_session/],
  ['search.find', findNeedle, /VIRTUAL TABLE INDEX [0-9]+:M1</],
  ['jobs.due', (tx) => tx.jobs.due(9, 9), /INDEX jobs_due \(run_at<\?\)/],
];

describe('query plans', () => {
  for (const [name, ask, index] of searches) {
    it(`${name} is an index search, without a scan and without a sort`, async () => {
      const plans = await plansOf(ask);
      assert.match(plans.join('\n'), index);
      const costly = plans.filter((step) => /^SCAN (?!CONSTANT|t VIRTUAL)|TEMP B-TREE/.test(step));
      assert.deepEqual(costly, [], plans.join('\n'));
    });
  }

  it('jobs.nextRunAt reads the first row of an index', async () => {
    const plans = await plansOf((tx) => tx.jobs.nextRunAt());
    assert.deepEqual(plans, ['SCAN jobs USING COVERING INDEX jobs_due']);
  });
});
