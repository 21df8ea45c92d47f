/** What a budget limits, as it is written and as it is counted (A22). */
import { formatUsd } from './money.ts';

export const BUDGET_KINDS = ['tokens', 'usd', 'runs', 'seconds'] as const;
export type BudgetKind = (typeof BUDGET_KINDS)[number];

/** A budget as it is written: `usd` in dollars, `seconds` in seconds. */
export type BudgetSettings = { [Kind in BudgetKind]?: number | undefined };

/** Whole numbers: `usd` in nano-dollars, `seconds` in milliseconds. */
export type BudgetAmounts = Record<BudgetKind, number>;
/** null = no limit */
export type BudgetLimits = Record<BudgetKind, number | null>;

const UNITS: BudgetAmounts = { tokens: 1, usd: 1_000_000_000, runs: 1, seconds: 1000 };

/** Returns the limits of a written budget in whole numbers; what is smaller than one of its unit is one. */
export function limitsOf(settings: BudgetSettings): BudgetLimits {
  const limits: BudgetLimits = { tokens: null, usd: null, runs: null, seconds: null };
  for (const kind of BUDGET_KINDS) {
    const value = settings[kind];
    if (value !== undefined) limits[kind] = Math.max(1, Math.round(value * UNITS[kind]));
  }
  return limits;
}

/** Returns the smaller one of each limit; undefined when there is none of both. */
export function narrower(
  one: BudgetLimits | undefined,
  other: BudgetLimits | undefined,
): BudgetLimits | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const limits = { ...one };
  for (const kind of BUDGET_KINDS) {
    const [a, b] = [one[kind], other[kind]];
    limits[kind] = a === null || b === null ? (a ?? b) : Math.min(a, b);
  }
  return limits;
}

/** Returns an amount for people, in the unit in which it is written. */
export function formatAmount(kind: BudgetKind, amount: number): string {
  if (kind === 'usd') return formatUsd(amount);
  return String(amount / UNITS[kind]);
}
