import type { PairingRow, PairingWrites } from '../device-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { id: string }) =>
  db.selectFrom('pairings').selectAll().where('id', '=', p.id),
);

const OF_DEVICE = defineQuery((db, p: { deviceId: string }) =>
  db.selectFrom('pairings').selectAll().where('device_id', '=', p.deviceId),
);

const OPEN = defineQuery((db, p: { now: number; limit: number }) =>
  db
    .selectFrom('pairings')
    .selectAll()
    .where('expires_at', '>', p.now)
    .orderBy('expires_at')
    .orderBy('id')
    .limit(p.limit),
);

const REMOVE = defineQuery((db, p: { id: string }) =>
  db.deleteFrom('pairings').where('id', '=', p.id),
);

const REMOVE_EXPIRED = defineQuery((db, p: { now: number }) =>
  db.deleteFrom('pairings').where('expires_at', '<=', p.now),
);

export class SqlPairings implements PairingWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(id: string): Promise<PairingRow | undefined> {
    return this.#unit.first(BY_ID, { id });
  }

  ofDevice(deviceId: string): Promise<PairingRow | undefined> {
    return this.#unit.first(OF_DEVICE, { deviceId });
  }

  open(now: number, limit: number): Promise<PairingRow[]> {
    return this.#unit.all(OPEN, { now, limit });
  }

  insert(row: PairingRow): Promise<void> {
    return this.#unit.insert('pairings', row);
  }

  update(id: string, patch: Partial<Omit<PairingRow, 'id' | 'deviceId'>>): Promise<void> {
    return this.#unit.update('pairings', { name: 'id', value: id }, patch);
  }

  async remove(id: string): Promise<void> {
    await this.#unit.change(REMOVE, { id });
  }

  async removeExpired(now: number): Promise<void> {
    await this.#unit.change(REMOVE_EXPIRED, { now });
  }
}
