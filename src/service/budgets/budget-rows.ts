/** Budgets as they are kept (A22). */
import { type Budget, startAnew } from '../../core/budget.ts';
import type { BudgetLimits } from '../../core/budget-limits.ts';
import type { BudgetRow } from '../../store/budget-repository.ts';
import type { WriteTx } from '../../store/store.ts';

/** Gives a budget to a session. */
export async function giveBudget(
  tx: WriteTx,
  { ownerKey, limits }: { ownerKey: string; limits: BudgetLimits },
): Promise<Budget> {
  const row = { ...unusedRow(ownerKey, tx.now), ...limitColumns(limits) };
  await tx.budgets.insert(row);
  return toBudget(row);
}

/** A new transcript is a new beginning: what was spent under this session so far counts no longer. */
export async function restartBudget(tx: WriteTx, ownerKey: string): Promise<void> {
  const row = await tx.budgets.get(ownerKey);
  if (row !== undefined) await saveBudget(tx, startAnew(toBudget(row), tx.now));
}

/** Writes what has been counted. */
export function saveBudget(
  tx: WriteTx,
  { ownerKey, spent, reserved, going, countedTo }: Budget,
): Promise<void> {
  return tx.budgets.update(ownerKey, {
    spentTokens: spent.tokens,
    spentNanos: spent.usd,
    spentRuns: spent.runs,
    spentMs: spent.seconds,
    reservedTokens: reserved.tokens,
    reservedNanos: reserved.usd,
    going,
    countedTo,
  });
}

/** Returns a row as the rules see it. */
export function toBudget(row: BudgetRow): Budget {
  const { ownerKey, reservedTokens, reservedNanos, going, countedTo } = row;
  return {
    ownerKey,
    limits: {
      tokens: row.limitTokens,
      usd: row.limitNanos,
      runs: row.limitRuns,
      seconds: row.limitMs,
    },
    spent: {
      tokens: row.spentTokens,
      usd: row.spentNanos,
      runs: row.spentRuns,
      seconds: row.spentMs,
    },
    reserved: { tokens: reservedTokens, usd: reservedNanos },
    going,
    countedTo,
  };
}

function limitColumns({ tokens, usd, runs, seconds }: BudgetLimits) {
  return { limitTokens: tokens, limitNanos: usd, limitRuns: runs, limitMs: seconds };
}

function unusedRow(
  ownerKey: string,
  now: number,
): Omit<BudgetRow, keyof ReturnType<typeof limitColumns>> {
  return {
    ownerKey,
    spentTokens: 0,
    spentNanos: 0,
    spentRuns: 0,
    spentMs: 0,
    reservedTokens: 0,
    reservedNanos: 0,
    going: 0,
    countedTo: null,
    createdAt: now,
  };
}
