import { sql } from 'kysely';
import type { RunRow } from '../rows.ts';
import type { RunWrites } from '../store.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { runId: string }) =>
  db.selectFrom('runs').selectAll().where('run_id', '=', p.runId),
);

const NEXT_QUEUED = defineQuery((db, p: { sessionKey: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('state', '=', sql.lit('queued'))
    .orderBy('seq')
    .limit(1),
);

const COUNT_BY_STATE = defineQuery((db, _p: object) =>
  db
    .selectFrom('runs')
    .select((eb) => ['state', eb.fn.countAll<number>().as('total')])
    .groupBy('state'),
);

export class SqlRuns implements RunWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(runId: string): Promise<RunRow | undefined> {
    return this.#unit.first(BY_ID, { runId });
  }

  nextQueued(sessionKey: string): Promise<RunRow | undefined> {
    return this.#unit.first(NEXT_QUEUED, { sessionKey });
  }

  async countByState(): Promise<Record<string, number>> {
    const counts = await this.#unit.all(COUNT_BY_STATE, {});
    return Object.fromEntries(counts.map(({ state, total }) => [state, total]));
  }

  insert(row: RunRow): Promise<void> {
    return this.#unit.insert('runs', row);
  }

  update(
    runId: string,
    patch: Partial<Omit<RunRow, 'runId' | 'sessionKey' | 'seq'>>,
  ): Promise<void> {
    return this.#unit.update('runs', { name: 'runId', value: runId }, patch);
  }
}
