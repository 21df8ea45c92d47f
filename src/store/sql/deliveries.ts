import type { DeliveryRow } from '../rows.ts';
import type { DeliveryWrites } from '../store.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

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

  async insert(row: DeliveryRow): Promise<boolean> {
    const { idempotencyKey } = row;
    if (await this.#unit.insertNew('deliveries', row)) return true;
    if ((await this.#unit.first(BY_IDEMPOTENCY_KEY, { idempotencyKey })) !== undefined)
      return false;
    // the id is taken by another effect: let the database say so
    await this.#unit.insert('deliveries', row);
    return true;
  }

  update(
    deliveryId: string,
    patch: Partial<Pick<DeliveryRow, 'state' | 'reason' | 'attempts' | 'updatedAt'>>,
  ): Promise<void> {
    return this.#unit.update('deliveries', { name: 'deliveryId', value: deliveryId }, patch);
  }
}
