import { type SelectQueryBuilder, sql } from 'kysely';
import { usageOfCall } from '../../core/usage-sum.ts';
import type {
  ModelCallRow,
  UsageDayRow,
  UsagePlace,
  UsageReads,
  UsageWrites,
} from '../usage-repository.ts';
import { dayOf } from '../../util/utc-day.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';
import type { Tables } from './tables.ts';

const CALLS_OF_RUN = defineQuery((db, p: { runId: string }) =>
  db.selectFrom('model_calls').selectAll().where('run_id', '=', p.runId).orderBy('position'),
);

const LAST_OF_RUN = defineQuery((db, p: { runId: string }) =>
  db
    .selectFrom('model_calls')
    .select('position')
    .where('run_id', '=', p.runId)
    .orderBy('position', 'desc')
    .limit(1),
);

/** The columns of a day that are sums of its calls. */
export const USAGE_SUMS = [
  'calls',
  'unknown_calls',
  'unpriced_calls',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cost_nanos',
] as const;

const ADD_TO_DAY = defineQuery((db, p: Omit<UsageDayRow, 'purgedCalls'>) =>
  db
    .insertInto('usage_days')
    .values({
      session_key: p.sessionKey,
      day: p.day,
      model: p.model,
      agent_id: p.agentId,
      root_key: p.rootKey,
      calls: p.calls,
      unknown_calls: p.unknownCalls,
      unpriced_calls: p.unpricedCalls,
      input_tokens: p.inputTokens,
      output_tokens: p.outputTokens,
      cache_read_tokens: p.cacheReadTokens,
      cache_write_tokens: p.cacheWriteTokens,
      cost_nanos: p.costNanos,
      purged_calls: 0,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['session_key', 'day', 'model'])
        .doUpdateSet(
          Object.fromEntries(
            USAGE_SUMS.map((name) => [
              name,
              sql<number>`${sql.ref(`usage_days.${name}`)} + ${sql.ref(`excluded.${name}`)}`,
            ]),
          ),
        ),
    ),
);

type PageQuery = UsagePlace & { limit: number };

const PAGE_BY_DAY = defineQuery((db, p: PageQuery) =>
  db
    .selectFrom('usage_days')
    .selectAll()
    .where((eb) =>
      eb(eb.refTuple('day', 'session_key', 'model'), '>', eb.tuple(p.day, p.sessionKey, p.model)),
    )
    .orderBy('day')
    .orderBy('session_key')
    .orderBy('model')
    .limit(p.limit),
);

function bySession(rows: SelectQueryBuilder<Tables, 'usage_days', object>, p: PageQuery) {
  return rows
    .selectAll()
    .where((eb) =>
      eb(eb.refTuple('session_key', 'day', 'model'), '>', eb.tuple(p.sessionKey, p.day, p.model)),
    )
    .orderBy('session_key')
    .orderBy('day')
    .orderBy('model')
    .limit(p.limit);
}

const PAGE_BY_SESSION = defineQuery((db, p: PageQuery) =>
  bySession(db.selectFrom('usage_days'), p),
);

const PAGE_OF_SESSION = defineQuery((db, p: PageQuery & { scopeKey: string }) =>
  db
    .selectFrom('usage_days')
    .selectAll()
    .where('session_key', '=', p.scopeKey)
    .where((eb) => eb(eb.refTuple('day', 'model'), '>', eb.tuple(p.day, p.model)))
    .orderBy('day')
    .orderBy('model')
    .limit(p.limit),
);

const PAGE_OF_ROOT = defineQuery((db, p: PageQuery & { scopeKey: string }) =>
  bySession(db.selectFrom('usage_days').where('root_key', '=', p.scopeKey), p),
);

export class SqlUsage implements UsageWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  callsOf(runId: string): Promise<ModelCallRow[]> {
    return this.#unit.all(CALLS_OF_RUN, { runId });
  }

  page({ scope, after, limit }: Parameters<UsageReads['page']>[0]): Promise<UsageDayRow[]> {
    const { sessionKey, day, model } = after;
    const place = { sessionKey, day, model, limit };
    switch (scope.type) {
      case 'everything':
        return this.#unit.all(scope.order === 'day' ? PAGE_BY_DAY : PAGE_BY_SESSION, place);
      case 'session':
        return this.#unit.all(PAGE_OF_SESSION, { ...place, scopeKey: scope.sessionKey });
      case 'root':
        return this.#unit.all(PAGE_OF_ROOT, { ...place, scopeKey: scope.rootKey });
    }
  }

  async book(...[call, of]: Parameters<UsageWrites['book']>): Promise<void> {
    const last = await this.#unit.first(LAST_OF_RUN, { runId: call.runId });
    await this.#unit.insert('model_calls', { ...call, position: (last?.position ?? -1) + 1 });
    const place = { ...of, day: dayOf(call.at), model: call.model };
    await this.#unit.change(ADD_TO_DAY, { ...place, ...usageOfCall(call) });
  }
}
