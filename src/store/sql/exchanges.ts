import { sql } from 'kysely';
import type {
  ExchangeCursor,
  ExchangeReads,
  ExchangeRow,
  ExchangeWrites,
} from '../follow-up-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { exchangeId: string }) =>
  db.selectFrom('exchanges').selectAll().where('exchange_id', '=', p.exchangeId),
);

const DUE_AFTER_RUN = defineQuery((db, p: { requesterRunId: string }) =>
  db
    .selectFrom('exchanges')
    .selectAll()
    .where('requester_run_id', '=', p.requesterRunId)
    .where('state', '=', sql.lit('due')),
);

const OPEN_FROM_TO = defineQuery((db, p: { requesterKey: string; targetKey: string }) =>
  db
    .selectFrom('exchanges')
    .selectAll()
    .where('requester_key', '=', p.requesterKey)
    .where('target_key', '=', p.targetKey)
    .where('state', '<>', sql.lit('done')),
);

/** One query for either side, because an `or` would need two indexes at once. */
const OPEN_OF_REQUESTER = defineQuery((db, p: { sessionKey: string }) =>
  db
    .selectFrom('exchanges')
    .selectAll()
    .where('requester_key', '=', p.sessionKey)
    .where('state', '<>', sql.lit('done')),
);

const OPEN_OF_TARGET = defineQuery((db, p: { sessionKey: string }) =>
  db
    .selectFrom('exchanges')
    .selectAll()
    .where('target_key', '=', p.sessionKey)
    .where('state', '<>', sql.lit('done')),
);

interface PageQuery extends ExchangeCursor {
  sessionKey: string;
  limit: number;
}

const pageOfSide = (side: 'requester_key' | 'target_key') =>
  defineQuery((db, p: PageQuery) =>
    db
      .selectFrom('exchanges')
      .selectAll()
      .where(side, '=', p.sessionKey)
      .where((eb) =>
        eb(eb.refTuple('created_at', 'exchange_id'), '<', eb.tuple(p.createdAt, p.exchangeId)),
      )
      .orderBy('created_at', 'desc')
      .orderBy('exchange_id', 'desc')
      .limit(p.limit),
  );
const PAGE_OF_REQUESTER = pageOfSide('requester_key');
const PAGE_OF_TARGET = pageOfSide('target_key');
/** Sorts after every row, so that the first page is asked like any other. */
const BEFORE_ALL: ExchangeCursor = { createdAt: Number.MAX_SAFE_INTEGER, exchangeId: '' };

export class SqlExchanges implements ExchangeWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(exchangeId: string): Promise<ExchangeRow | undefined> {
    return this.#unit.first(BY_ID, { exchangeId });
  }

  async dueAfterRun(requesterRunId: string): Promise<ExchangeRow[]> {
    return oldestFirst(await this.#unit.all(DUE_AFTER_RUN, { requesterRunId }));
  }

  async openOfPair(a: string, b: string): Promise<ExchangeRow[]> {
    const fromA = await this.#unit.all(OPEN_FROM_TO, { requesterKey: a, targetKey: b });
    const fromB = await this.#unit.all(OPEN_FROM_TO, { requesterKey: b, targetKey: a });
    return oldestFirst([...fromA, ...fromB]);
  }

  async openOf(sessionKey: string): Promise<ExchangeRow[]> {
    const asked = await this.#unit.all(OPEN_OF_REQUESTER, { sessionKey });
    const answered = await this.#unit.all(OPEN_OF_TARGET, { sessionKey });
    return oldestFirst([...asked, ...answered]);
  }

  async pageOf({
    sessionKey,
    cursor = BEFORE_ALL,
    limit,
  }: Parameters<ExchangeReads['pageOf']>[0]): Promise<ExchangeRow[]> {
    const page = { sessionKey, limit, createdAt: cursor.createdAt, exchangeId: cursor.exchangeId };
    const asked = await this.#unit.all(PAGE_OF_REQUESTER, page);
    const answered = await this.#unit.all(PAGE_OF_TARGET, page);
    return [...asked, ...answered].sort(newestFirst).slice(0, limit);
  }

  insert(row: ExchangeRow): Promise<void> {
    return this.#unit.insert('exchanges', row);
  }

  update(exchangeId: string, patch: Partial<Omit<ExchangeRow, 'exchangeId'>>): Promise<void> {
    return this.#unit.update('exchanges', { name: 'exchangeId', value: exchangeId }, patch);
  }
}

/** A handful of rows; sorted here so that the database needs no further index for it. */
function oldestFirst(rows: ExchangeRow[]): ExchangeRow[] {
  return rows.sort((a, b) => a.createdAt - b.createdAt);
}

function newestFirst(a: ExchangeRow, b: ExchangeRow): number {
  return b.createdAt - a.createdAt || (a.exchangeId < b.exchangeId ? 1 : -1);
}
