/** What the operator is told of the budgets that a session is under (A22). */
import { type Budget, restOf } from '../../core/budget.ts';
import { BUDGET_KINDS, type BudgetAmounts } from '../../core/budget-limits.ts';
import { usdOfNanos } from '../../core/money.ts';
import type { ReadTx } from '../../store/store.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { BudgetView } from '../../protocol/answers/usage-answers.ts';
import { readBudgetsOver } from './budgets-over.ts';

/** Returns each of them with what is left, that of the root first. */
export async function readBudgets(
  tx: ReadTx,
  config: Config,
  session: SessionRow,
): Promise<BudgetView[]> {
  return (await readBudgetsOver(tx, config, session)).map(toView);
}

function toView(budget: Budget): BudgetView {
  const { ownerKey, limits, spent, reserved } = budget;
  return {
    sessionKey: ownerKey,
    limits: inUnits(limits),
    spent: inUnits(spent),
    reserved: inUnits({ tokens: reserved.tokens, usd: reserved.usd }),
    rest: inUnits(restOf(budget)),
  };
}

function inUnits(amounts: Partial<Record<keyof BudgetAmounts, number | null>>) {
  const shown: Partial<BudgetAmounts> = {};
  for (const kind of BUDGET_KINDS) {
    const amount = amounts[kind];
    if (amount === null || amount === undefined) continue;
    if (kind === 'usd') shown.usd = usdOfNanos(amount);
    else shown[kind] = kind === 'seconds' ? amount / 1000 : amount;
  }
  return shown;
}
