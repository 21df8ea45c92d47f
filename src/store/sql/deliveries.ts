import { type SelectQueryBuilder, sql } from 'kysely';
import type {
  DeliveryCursor,
  DeliveryPlace,
  DeliveryReads,
  DeliveryRow,
  DeliveryWrites,
} from '../delivery-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';
import type { Tables } from './tables.ts';

const BY_ID = defineQuery((db, p: { deliveryId: string }) =>
  db.selectFrom('deliveries').selectAll().where('delivery_id', '=', p.deliveryId),
);

const BY_IDEMPOTENCY_KEY = defineQuery((db, p: { idempotencyKey: string }) =>
  db.selectFrom('deliveries').select('delivery_id').where('idempotency_key', '=', p.idempotencyKey),
);

const BY_STATE = defineQuery((db, p: { state: DeliveryRow['state']; limit: number }) =>
  db
    .selectFrom('deliveries')
    .selectAll()
    .where('state', '=', p.state)
    .orderBy('created_at')
    .orderBy('delivery_id')
    .limit(p.limit),
);

const OF_SESSION = defineQuery((db, p: { sessionKey: string; limit: number }) =>
  db
    .selectFrom('deliveries')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .orderBy('created_at', 'desc')
    .orderBy('delivery_id', 'desc')
    .limit(p.limit),
);

const OF_TEXT = defineQuery((db, p: { textKey: string }) =>
  db.selectFrom('deliveries').selectAll().where('text_key', '=', p.textKey).orderBy('part'),
);

/** As the index of open parts says it, so that it serves. */
const IS_OPEN = sql<boolean>`state in ('queued', 'sending')`;

const FIRST_OPEN = defineQuery((db, p: { sessionKey: string }) =>
  db
    .selectFrom('deliveries')
    .select('delivery_id')
    .where('session_key', '=', p.sessionKey)
    .where(IS_OPEN)
    .limit(1),
);

const HEAD_OF_ROUTE = defineQuery((db, p: { routeKey: string }) =>
  db
    .selectFrom('deliveries')
    .selectAll()
    .where('route_key', '=', p.routeKey)
    .where(IS_OPEN)
    .orderBy('route_seq')
    .limit(1),
);

const LAST_OF_ROUTE = defineQuery((db, p: { routeKey: string }) =>
  db
    .selectFrom('deliveries')
    .selectAll()
    .where('route_key', '=', p.routeKey)
    .orderBy('route_seq', 'desc')
    .limit(1),
);

const GATEWAY = defineQuery((db, p: { id: string }) =>
  db.selectFrom('gateways').select('id').where('id', '=', p.id),
);

type Position = DeliveryCursor & { limit: number };

/** Sorts after every row, so that the first page is asked like any other. */
const BEFORE_ALL: DeliveryCursor = { createdAt: Number.MAX_SAFE_INTEGER, deliveryId: '' };

const PLACE = [
  'delivery_id',
  'session_key',
  'route_seq',
  'state',
  'attempts',
  'created_at',
] as const;

function newestFirst(rows: SelectQueryBuilder<Tables, 'deliveries', object>, p: Position) {
  return rows
    .select(PLACE)
    .where((eb) =>
      eb(eb.refTuple('created_at', 'delivery_id'), '<', eb.tuple(p.createdAt, p.deliveryId)),
    )
    .orderBy('created_at', 'desc')
    .orderBy('delivery_id', 'desc')
    .limit(p.limit);
}

const PAGE_OF_STATE = defineQuery((db, p: Position & { state: DeliveryRow['state'] }) =>
  newestFirst(db.selectFrom('deliveries').where('state', '=', p.state), p),
);

const PAGE_OF_RETRYING = defineQuery((db, p: Position) =>
  newestFirst(
    db
      .selectFrom('deliveries')
      .where(sql<boolean>`coalesce(state, '') = 'queued' and attempts > 0`),
    p,
  ),
);

const PAGE_OF_SESSION = defineQuery((db, p: Position & { sessionKey: string }) =>
  newestFirst(db.selectFrom('deliveries').where('session_key', '=', p.sessionKey), p),
);

const PAGE_OF_ROUTE = defineQuery((db, p: { routeKey: string; beforeSeq: number; limit: number }) =>
  db
    .selectFrom('deliveries')
    .select(PLACE)
    .where('route_key', '=', p.routeKey)
    .where('route_seq', '<', p.beforeSeq)
    // what never goes out has no place
    .where('route_seq', '>', 0)
    .orderBy('route_seq', 'desc')
    .limit(p.limit),
);

export class SqlDeliveries implements DeliveryWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(deliveryId: string): Promise<DeliveryRow | undefined> {
    return this.#unit.first(BY_ID, { deliveryId });
  }

  byState(state: DeliveryRow['state'], limit: number): Promise<DeliveryRow[]> {
    return this.#unit.all(BY_STATE, { state, limit });
  }

  /** Newest first. */
  ofSession(sessionKey: string, limit: number): Promise<DeliveryRow[]> {
    return this.#unit.all(OF_SESSION, { sessionKey, limit });
  }

  async hasOpen(sessionKey: string): Promise<boolean> {
    return (await this.#unit.first(FIRST_OPEN, { sessionKey })) !== undefined;
  }

  ofText(textKey: string): Promise<DeliveryRow[]> {
    return this.#unit.all(OF_TEXT, { textKey });
  }

  headOfRoute(routeKey: string): Promise<DeliveryRow | undefined> {
    return this.#unit.first(HEAD_OF_ROUTE, { routeKey });
  }

  async senderLives(sender: string): Promise<boolean> {
    return (await this.#unit.first(GATEWAY, { id: sender })) !== undefined;
  }

  lastOfRoute(routeKey: string): Promise<DeliveryRow | undefined> {
    return this.#unit.first(LAST_OF_ROUTE, { routeKey });
  }

  pageOfState({
    state,
    cursor = BEFORE_ALL,
    limit,
  }: Parameters<DeliveryReads['pageOfState']>[0]): Promise<DeliveryPlace[]> {
    if (state === 'retrying') return this.#unit.all(PAGE_OF_RETRYING, { ...cursor, limit });
    return this.#unit.all(PAGE_OF_STATE, { ...cursor, limit, state });
  }

  pageOfSession({
    sessionKey,
    cursor = BEFORE_ALL,
    limit,
  }: Parameters<DeliveryReads['pageOfSession']>[0]): Promise<DeliveryPlace[]> {
    return this.#unit.all(PAGE_OF_SESSION, { ...cursor, limit, sessionKey });
  }

  pageOfRoute({
    routeKey,
    beforeSeq = Number.MAX_SAFE_INTEGER,
    limit,
  }: Parameters<DeliveryReads['pageOfRoute']>[0]): Promise<DeliveryPlace[]> {
    return this.#unit.all(PAGE_OF_ROUTE, { routeKey, beforeSeq, limit });
  }

  async insert(row: DeliveryRow): Promise<boolean> {
    const { idempotencyKey } = row;
    if (await this.#unit.insertNew('deliveries', row)) return true;
    if ((await this.#unit.first(BY_IDEMPOTENCY_KEY, { idempotencyKey })) !== undefined)
      return false;
    // the id is taken by another effect: let the database say so
    await this.#unit.insert('deliveries', row);
    return true;
  }

  update(...[deliveryId, patch]: Parameters<DeliveryWrites['update']>): Promise<void> {
    return this.#unit.update('deliveries', { name: 'deliveryId', value: deliveryId }, patch);
  }
}
