import { sql } from 'kysely';
import type { SpawnRow, SpawnWrites } from '../follow-up-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_CHILD = defineQuery((db, p: { childKey: string }) =>
  db.selectFrom('spawns').selectAll().where('child_key', '=', p.childKey),
);

const UNSETTLED = defineQuery((db, p: { requesterKey: string }) =>
  db
    .selectFrom('spawns')
    .selectAll()
    .where('requester_key', '=', p.requesterKey)
    .where('state', '<>', sql.lit('settled')),
);

const HAS_UNSETTLED = defineQuery((db, p: { requesterKey: string }) =>
  db
    .selectFrom('spawns')
    .select('child_key')
    .where('requester_key', '=', p.requesterKey)
    .where('state', '<>', sql.lit('settled'))
    .limit(1),
);

export class SqlSpawns implements SpawnWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(childKey: string): Promise<SpawnRow | undefined> {
    return this.#unit.first(BY_CHILD, { childKey });
  }

  async unsettledOf(requesterKey: string): Promise<SpawnRow[]> {
    const rows = await this.#unit.all(UNSETTLED, { requesterKey });
    return rows.sort((a, b) => a.createdAt - b.createdAt);
  }

  async hasUnsettled(requesterKey: string): Promise<boolean> {
    return (await this.#unit.first(HAS_UNSETTLED, { requesterKey })) !== undefined;
  }

  insert(row: SpawnRow): Promise<void> {
    return this.#unit.insert('spawns', row);
  }

  update(childKey: string, patch: Partial<Omit<SpawnRow, 'childKey'>>): Promise<void> {
    return this.#unit.update('spawns', { name: 'childKey', value: childKey }, patch);
  }
}
