import type { BudgetHoldRow, BudgetRow, BudgetWrites } from '../budget-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_OWNER = defineQuery((db, p: { ownerKey: string }) =>
  db.selectFrom('budgets').selectAll().where('owner_key', '=', p.ownerKey),
);

const ABOVE = defineQuery((db, p: { sessionKey: string }) =>
  db
    .selectFrom('session_ancestors')
    .innerJoin('budgets', 'budgets.owner_key', 'session_ancestors.ancestor_key')
    .selectAll('budgets')
    .where('session_ancestors.session_key', '=', p.sessionKey),
);

const HOLDS_OF = defineQuery((db, p: { runId: string }) =>
  db.selectFrom('budget_holds').selectAll().where('run_id', '=', p.runId).orderBy('owner_key'),
);

const DROP_HOLDS = defineQuery((db, p: { runId: string }) =>
  db.deleteFrom('budget_holds').where('run_id', '=', p.runId),
);

export class SqlBudgets implements BudgetWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(ownerKey: string): Promise<BudgetRow | undefined> {
    return this.#unit.first(BY_OWNER, { ownerKey });
  }

  above(sessionKey: string): Promise<BudgetRow[]> {
    return this.#unit.all(ABOVE, { sessionKey });
  }

  holdsOf(runId: string): Promise<BudgetHoldRow[]> {
    return this.#unit.all(HOLDS_OF, { runId });
  }

  insert(row: BudgetRow): Promise<void> {
    return this.#unit.insert('budgets', row);
  }

  update(ownerKey: string, patch: Partial<Omit<BudgetRow, 'ownerKey'>>): Promise<void> {
    return this.#unit.update('budgets', { name: 'ownerKey', value: ownerKey }, patch);
  }

  async replaceHolds(runId: string, holds: readonly BudgetHoldRow[]): Promise<void> {
    await this.#unit.change(DROP_HOLDS, { runId });
    for (const hold of holds) await this.#unit.insert('budget_holds', hold);
  }
}
