import { sql } from 'kysely';
import { GatewayError } from '../../protocol/errors.ts';
import type { WaitRow, WaitWrites } from '../run-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { waitId: string }) =>
  db.selectFrom('waits').selectAll().where('wait_id', '=', p.waitId),
);

const OPEN_OF_LANE = defineQuery((db, p: { waiterKey: string }) =>
  db
    .selectFrom('waits')
    .selectAll()
    .where('waiter_key', '=', p.waiterKey)
    .where('state', '=', sql.lit('open')),
);

const INTERRUPT_LANE = defineQuery((db, p: { waiterKey: string; byRunId: string; at: number }) =>
  db
    .updateTable('waits')
    .set({ state: 'interrupted', interrupted_by: p.byRunId, ended_at: p.at })
    .where('waiter_key', '=', p.waiterKey)
    .where('state', '=', sql.lit('open')),
);

const END = defineQuery((db, p: { waitId: string; state: WaitRow['state']; at: number }) =>
  db.updateTable('waits').set({ state: p.state, ended_at: p.at }).where('wait_id', '=', p.waitId),
);

const END_OF_RUN = defineQuery((db, p: { waiterRunId: string; at: number }) =>
  db
    .updateTable('waits')
    .set({ state: 'interrupted', ended_at: p.at })
    .where('waiter_run_id', '=', p.waiterRunId)
    .where('state', '=', sql.lit('open')),
);

export class SqlWaits implements WaitWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(waitId: string): Promise<WaitRow | undefined> {
    return this.#unit.first(BY_ID, { waitId });
  }

  openOfLane(waiterKey: string): Promise<WaitRow[]> {
    return this.#unit.all(OPEN_OF_LANE, { waiterKey });
  }

  async interruptLane(waiterKey: string, byRunId: string, at: number): Promise<void> {
    await this.#unit.change(INTERRUPT_LANE, { waiterKey, byRunId, at });
  }

  insert(row: WaitRow): Promise<void> {
    return this.#unit.insert('waits', row);
  }

  async end(waitId: string, state: Exclude<WaitRow['state'], 'open'>, at: number): Promise<void> {
    const changes = await this.#unit.change(END, { waitId, state, at });
    if (changes === 0) throw new GatewayError('not_found', `there is no wait ${waitId}`);
  }

  async endOfRun(waiterRunId: string, at: number): Promise<void> {
    await this.#unit.change(END_OF_RUN, { waiterRunId, at });
  }
}
