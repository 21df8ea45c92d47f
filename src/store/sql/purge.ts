/** Erasing for good, in small steps: each statement takes a bounded number of rows. */
import { type Expression, type ExpressionBuilder, sql, type SqlBool } from 'kysely';
import { dayOf } from '../../util/utc-day.ts';
import type { PurgedRun, PurgeRange, PurgeWrites } from '../purge-repository.ts';
import type { UsagePlace } from '../usage-repository.ts';
import { defineQuery, keyed, type Query } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';
import type { Tables } from './tables.ts';

type Range = PurgeRange & { limit: number };

const ENTRIES = defineQuery((db, p: { sessionId: string; limit: number }) =>
  db
    .deleteFrom('entries')
    .where('session_id', '=', p.sessionId)
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('entries')
        .select('seq')
        .where('session_id', '=', p.sessionId)
        .orderBy('seq')
        .limit(p.limit),
    ),
);

/** One query for the runs of a transcript, with those that never had one, and one for all of a session. */
const runsQuery = keyed((scope): Query<Range & { sessionId: string }, PurgedRun> =>
  defineQuery((db, p: Range & { sessionId: string }) => {
    const query = db
      .selectFrom('runs')
      .select(['run_id', 'parent_run_id', 'state'])
      .where('session_key', '=', p.sessionKey)
      .where('purged_at', 'is', null)
      .where('accepted_at', '<=', p.until)
      .where('state', 'in', ['ok', 'error', 'timeout', 'aborted'])
      .orderBy('accepted_at')
      .orderBy('seq')
      .limit(p.limit);
    if (scope === 'session') return query;
    return query.where((eb) =>
      eb.or([eb('session_id', '=', p.sessionId), eb('session_id', 'is', null)]),
    );
  }),
);

/** Positions of a run are few calls each, so that this takes a handful of messages. */
const TOOL_CALLS = defineQuery((db, p: { runId: string; positions: number }) =>
  db
    .deleteFrom('tool_calls')
    .where('run_id', '=', p.runId)
    .where('position', '<', (eb) =>
      eb
        .selectFrom('tool_calls')
        .select((of) => of(of.fn.min('position'), '+', p.positions).as('end'))
        .where('run_id', '=', p.runId),
    ),
);

const FIRST_CALLS = defineQuery((db, p: { runId: string; limit: number }) =>
  db
    .selectFrom('model_calls')
    .select(['position', 'model', 'at'])
    .where('run_id', '=', p.runId)
    .orderBy('position')
    .limit(p.limit),
);

const MODEL_CALLS = defineQuery((db, p: { runId: string; until: number }) =>
  db.deleteFrom('model_calls').where('run_id', '=', p.runId).where('position', '<=', p.until),
);

/** What was spent stays in the sums, which say that its calls are gone. */
const COUNT_AS_PURGED = defineQuery((db, p: UsagePlace & { calls: number }) =>
  db
    .updateTable('usage_days')
    .set((eb) => ({ purged_calls: eb('purged_calls', '+', p.calls) }))
    .where('session_key', '=', p.sessionKey)
    .where('day', '=', p.day)
    .where('model', '=', p.model),
);

const WAITS = defineQuery((db, p: { runId: string }) =>
  db.deleteFrom('waits').where('waiter_run_id', '=', p.runId),
);

const EXCHANGE = defineQuery((db, p: { runId: string }) =>
  db
    .deleteFrom('exchanges')
    .where('exchange_id', '=', p.runId)
    .where('state', '=', sql.lit('done')),
);

const INPUT = defineQuery((db, p: { runId: string }) =>
  db.deleteFrom('inputs').where('input_id', '=', p.runId),
);

const RUN = defineQuery((db, p: { runId: string }) =>
  db.deleteFrom('runs').where('run_id', '=', p.runId),
);

const SPEND_INPUT = defineQuery((db, p: { runId: string }) =>
  db.updateTable('inputs').set({ text: '', provenance_json: null }).where('input_id', '=', p.runId),
);

const SPEND_RUN = defineQuery((db, p: { runId: string; at: number; error: string | null }) =>
  db
    .updateTable('runs')
    .set({ reply: '', error: p.error, options_json: null, route_json: null, purged_at: p.at })
    .where('run_id', '=', p.runId),
);

/** The condition of the partial index of notes, word for word. */
const IS_NOTE = sql<SqlBool>`kind in ('note', 'announce', 'summary')`;

/** Notes of a transcript, or all of a session: those that a run took into another transcript are not of this one. */
const noteQueries = keyed((scope) => {
  type NoteRange = Range & { sessionId: string };
  function notesOf(
    eb: ExpressionBuilder<Tables, 'inputs'>,
    p: NoteRange,
    which: Expression<SqlBool>,
  ) {
    const query = eb
      .selectFrom('inputs')
      .select('input_id')
      .where('session_key', '=', p.sessionKey)
      .where(IS_NOTE)
      .where('state', '<>', 'pending')
      .where((of) => of(of.fn.coalesce('appended_at', 'accepted_at'), '<=', p.until))
      .where(which)
      .orderBy('seq')
      .limit(p.limit);
    if (scope === 'session') return query;
    return query.where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('runs')
            .select('runs.run_id')
            .whereRef('runs.run_id', '=', 'inputs.run_id')
            .where('runs.session_id', '<>', p.sessionId),
        ),
      ),
    );
  }
  return {
    remove: defineQuery((db, p: NoteRange) =>
      db
        .deleteFrom('inputs')
        .where('input_id', 'in', (eb) => notesOf(eb, p, eb('idempotency_key', 'is', null))),
    ),
    /** A key is kept, so that the note is not taken a second time. */
    spend: defineQuery((db, p: NoteRange) =>
      db
        .updateTable('inputs')
        .set({ text: '', provenance_json: null })
        .where('input_id', 'in', (eb) =>
          notesOf(eb, p, eb.and([eb('idempotency_key', 'is not', null), eb('text', '<>', '')])),
        ),
    ),
  };
});

/** What waits at the desk stays: a text that never arrived does not vanish. */
function deliveriesOf(
  eb: ExpressionBuilder<Tables, 'deliveries'>,
  p: Range,
  which: Expression<SqlBool>,
) {
  return eb
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('session_key', '=', p.sessionKey)
    .where('created_at', '<=', p.until)
    .where('state', 'in', ['sent', 'suppressed', 'dropped'])
    .where(which)
    .orderBy('created_at')
    .orderBy('delivery_id')
    .limit(p.limit);
}

const DELIVERIES = defineQuery((db, p: Range) =>
  db
    .deleteFrom('deliveries')
    .where('delivery_id', 'in', (eb) => deliveriesOf(eb, p, eb('content_hash', 'is', null))),
);

const SPEND_DELIVERIES = defineQuery((db, p: Range) =>
  db
    .updateTable('deliveries')
    .set({ text: '' })
    .where('delivery_id', 'in', (eb) =>
      deliveriesOf(eb, p, eb.and([eb('content_hash', 'is not', null), eb('text', '<>', '')])),
    ),
);

const WINDOW = defineQuery((db, p: { sessionId: string }) =>
  db.deleteFrom('windows').where('session_id', '=', p.sessionId),
);

const SPAWN = defineQuery((db, p: { key: string }) =>
  db.deleteFrom('spawns').where('child_key', '=', p.key),
);

/** One that is still in the workspace keeps its row, until the job that removes it has done so. */
const ATTACHMENTS = defineQuery((db, p: { key: string }) =>
  db.deleteFrom('attachments').where('child_key', '=', p.key).where('state', '=', sql.lit('gone')),
);

/** Those that the session has made; what others wait for in it is told to nobody. */
const DEFERRED_CALLS = defineQuery((db, p: { key: string }) =>
  db.deleteFrom('deferred_calls').where('session_key', '=', p.key),
);

const LANE = defineQuery((db, p: { key: string }) =>
  db.deleteFrom('lanes').where('session_key', '=', p.key),
);

const ANCESTORS = defineQuery((db, p: { key: string }) =>
  db.deleteFrom('session_ancestors').where('session_key', '=', p.key),
);

const BUDGET = defineQuery((db, p: { key: string }) =>
  db.deleteFrom('budgets').where('owner_key', '=', p.key),
);

const SESSION = defineQuery((db, p: { key: string }) =>
  db.deleteFrom('sessions').where('key', '=', p.key),
);

/** Messages of one run whose tool calls go in one step. */
const POSITIONS = 10;

export class SqlPurge implements PurgeWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  entries(sessionId: string, limit: number): Promise<number> {
    return this.#unit.change(ENTRIES, { sessionId, limit });
  }

  runs(range: PurgeRange & { sessionId: string | undefined }, limit: number): Promise<PurgedRun[]> {
    const place = { ...range, sessionId: range.sessionId ?? '', limit };
    return this.#unit.all(runsQuery(scopeOf(range)), place);
  }

  toolCalls(runId: string): Promise<number> {
    return this.#unit.change(TOOL_CALLS, { runId, positions: POSITIONS });
  }

  async modelCalls(...[run, limit]: Parameters<PurgeWrites['modelCalls']>): Promise<number> {
    const { runId, sessionKey } = run;
    const first = await this.#unit.all(FIRST_CALLS, { runId, limit });
    const last = first.at(-1);
    if (last === undefined) return 0;
    await this.#unit.change(MODEL_CALLS, { runId, until: last.position });
    const byDay = Map.groupBy(first, ({ model, at }) => `${dayOf(at)} ${model}`);
    for (const calls of byDay.values()) {
      const [{ model, at } = last] = calls;
      const place = { sessionKey, day: dayOf(at), model };
      await this.#unit.change(COUNT_AS_PURGED, { ...place, calls: calls.length });
    }
    return first.length;
  }

  async run(runId: string): Promise<void> {
    await this.#leave(runId);
    await this.#unit.change(INPUT, { runId });
    await this.#unit.change(RUN, { runId });
  }

  async spendRun(runId: string, error: string | null): Promise<void> {
    await this.#leave(runId);
    await this.#unit.change(SPEND_INPUT, { runId });
    await this.#unit.change(SPEND_RUN, { runId, error, at: this.#unit.now });
  }

  async notes(
    range: PurgeRange & { sessionId: string | undefined },
    limit: number,
  ): Promise<number> {
    const { remove, spend } = noteQueries(scopeOf(range));
    const place = { ...range, sessionId: range.sessionId ?? '', limit };
    return (await this.#unit.change(remove, place)) + (await this.#unit.change(spend, place));
  }

  async deliveries(range: PurgeRange, limit: number): Promise<number> {
    const gone = await this.#unit.change(DELIVERIES, { ...range, limit });
    return gone + (await this.#unit.change(SPEND_DELIVERIES, { ...range, limit }));
  }

  async window(sessionId: string): Promise<void> {
    await this.#unit.change(WINDOW, { sessionId });
  }

  async session(key: string): Promise<void> {
    for (const query of [SPAWN, ATTACHMENTS, DEFERRED_CALLS, LANE, ANCESTORS, BUDGET, SESSION]) {
      await this.#unit.change(query, { key });
    }
  }

  async #leave(runId: string): Promise<void> {
    await this.#unit.change(WAITS, { runId });
    await this.#unit.change(EXCHANGE, { runId });
  }
}

function scopeOf({ sessionId }: { sessionId: string | undefined }): 'window' | 'session' {
  return sessionId === undefined ? 'session' : 'window';
}
