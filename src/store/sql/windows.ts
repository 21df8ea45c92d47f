import type { WindowRow } from '../rows.ts';
import type { WindowWrites } from '../store.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { sessionId: string }) =>
  db.selectFrom('windows').selectAll().where('session_id', '=', p.sessionId),
);

const MARK_DELETED = defineQuery((db, p: { sessionKey: string; at: number }) =>
  db
    .updateTable('windows')
    .set((eb) => ({ deleted_at: p.at, ended_at: eb.fn.coalesce('ended_at', eb.val(p.at)) }))
    .where('session_key', '=', p.sessionKey)
    .where('deleted_at', 'is', null),
);

export class SqlWindows implements WindowWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(sessionId: string): Promise<WindowRow | undefined> {
    return this.#unit.first(BY_ID, { sessionId });
  }

  async markDeleted(sessionKey: string, at: number): Promise<void> {
    await this.#unit.change(MARK_DELETED, { sessionKey, at });
  }
}
