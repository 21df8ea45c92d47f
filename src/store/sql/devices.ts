import { sql } from 'kysely';
import type { DeviceCursor, DeviceReads, DeviceRow, DeviceWrites } from '../device-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

/** Sorts after every row, so that the first page is asked like any other. */
const BEFORE_ALL: DeviceCursor = { approvedAt: Number.MAX_SAFE_INTEGER, id: '' };

const BY_ID = defineQuery((db, p: { id: string }) =>
  db.selectFrom('devices').selectAll().where('id', '=', p.id),
);

const PAGE = defineQuery((db, p: DeviceCursor & { limit: number }) =>
  db
    .selectFrom('devices')
    .selectAll()
    .where((eb) => eb(eb.refTuple('approved_at', 'id'), '<', eb.tuple(p.approvedAt, p.id)))
    .orderBy('approved_at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit),
);

const IDS = defineQuery((db, p: { limit: number }) =>
  db.selectFrom('devices').select('id').orderBy('id').limit(p.limit),
);

const OLDEST_REVOKED = defineQuery((db, _p: object) =>
  db
    .selectFrom('devices')
    .selectAll()
    .where('revoked_at', 'is not', null)
    .where('revoked_at', '>', sql.lit(0))
    .orderBy('revoked_at')
    .orderBy('id')
    .limit(sql.lit(1)),
);

const REMOVE = defineQuery((db, p: { id: string }) =>
  db.deleteFrom('devices').where('id', '=', p.id),
);

export class SqlDevices implements DeviceWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(id: string): Promise<DeviceRow | undefined> {
    return this.#unit.first(BY_ID, { id });
  }

  page({ cursor = BEFORE_ALL, limit }: Parameters<DeviceReads['page']>[0]): Promise<DeviceRow[]> {
    return this.#unit.all(PAGE, { ...cursor, limit });
  }

  async count(atMost: number): Promise<number> {
    return (await this.#unit.all(IDS, { limit: atMost })).length;
  }

  oldestRevoked(): Promise<DeviceRow | undefined> {
    return this.#unit.first(OLDEST_REVOKED, {});
  }

  insert(row: DeviceRow): Promise<void> {
    return this.#unit.insert('devices', row);
  }

  update(id: string, patch: Partial<Omit<DeviceRow, 'id'>>): Promise<void> {
    return this.#unit.update('devices', { name: 'id', value: id }, patch);
  }

  async remove(id: string): Promise<void> {
    await this.#unit.change(REMOVE, { id });
  }
}
