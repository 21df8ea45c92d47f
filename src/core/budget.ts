/**
 * Budgets over a tree of sessions (A22). A session is under its own budget and those of all sessions above it:
 *
 *   reserve ──▶ call | close (one last call without tools) | refuse (a run that has not begun)
 *   settle  ──▶ what a call used is spent, what was reserved for it is free
 *
 * What a call will use is not known before, so that as much is reserved as the call before it used. Whoever finds less
 * than that left makes its last call. Nothing here knows rows or time.
 */
import { formatUsd } from './money.ts';

export const BUDGET_KINDS = ['tokens', 'usd', 'runs', 'seconds'] as const;
export type BudgetKind = (typeof BUDGET_KINDS)[number];

/** A budget as it is written: `usd` in dollars, `seconds` in seconds. */
export type BudgetSettings = { [Kind in BudgetKind]?: number | undefined };

/** Whole numbers: `usd` in nano-dollars, `seconds` in milliseconds. */
export type BudgetAmounts = Record<BudgetKind, number>;
/** null = no limit */
export type BudgetLimits = Record<BudgetKind, number | null>;

/** What is set aside for the call under way. */
export interface BudgetHold {
  tokens: number;
  usd: number;
}

export interface Budget {
  /** the session that it was given to; it counts all below */
  ownerKey: string;
  limits: BudgetLimits;
  spent: BudgetAmounts;
  reserved: BudgetHold;
}

/** What keeps a call from being one of many. */
export interface UsedUp {
  budget: Budget;
  kind: BudgetKind;
}

export type CallStep =
  | { do: 'call'; holds: BudgetHold[] }
  | { do: 'close'; holds: BudgetHold[]; by: UsedUp }
  | { do: 'refuse'; by: UsedUp };

const UNITS: BudgetAmounts = { tokens: 1, usd: 1_000_000_000, runs: 1, seconds: 1000 };

/** Returns a budget of which nothing is used. */
export function freshBudget(ownerKey: string, limits: BudgetLimits): Budget {
  const spent = { tokens: 0, usd: 0, runs: 0, seconds: 0 };
  return { ownerKey, limits, spent, reserved: { tokens: 0, usd: 0 } };
}

/** Returns the limits of a written budget in whole numbers. */
export function limitsOf(settings: BudgetSettings): BudgetLimits {
  const limits: BudgetLimits = { tokens: null, usd: null, runs: null, seconds: null };
  for (const kind of BUDGET_KINDS) {
    const value = settings[kind];
    if (value !== undefined) limits[kind] = Math.max(1, Math.round(value * UNITS[kind]));
  }
  return limits;
}

/** Returns what is left, never below 0; null = no limit. What is reserved is not left. */
export function restOf({ limits, spent, reserved }: Budget): BudgetLimits {
  const rest: BudgetLimits = { ...limits };
  for (const kind of BUDGET_KINDS) {
    const limit = limits[kind];
    const held = kind === 'tokens' || kind === 'usd' ? reserved[kind] : 0;
    if (limit !== null) rest[kind] = Math.max(0, limit - spent[kind] - held);
  }
  return rest;
}

/** Returns what of a run may follow under these budgets, and what each of them sets aside for it. */
export function nextCall(
  budgets: readonly Budget[],
  { need, isStart }: { need: BudgetHold; isStart: boolean },
): CallStep {
  const spentOut = isStart ? firstUsedUp(budgets, isSpent) : undefined;
  if (spentOut !== undefined) return { do: 'refuse', by: spentOut };
  const amounts = { tokens: Math.max(1, need.tokens), usd: Math.max(1, need.usd), seconds: 1 };
  // runs are counted at their start alone
  const by = firstUsedUp(budgets, (budget, kind) => {
    const rest = restOf(budget)[kind];
    return kind !== 'runs' && rest !== null && rest < amounts[kind];
  });
  const holds = budgets.map((budget) => holdOf(budget, amounts));
  return by === undefined ? { do: 'call', holds } : { do: 'close', holds, by };
}

function firstUsedUp(
  budgets: readonly Budget[],
  isUsedUp: (budget: Budget, kind: BudgetKind) => boolean,
): UsedUp | undefined {
  for (const budget of budgets) {
    const kind = BUDGET_KINDS.find((each) => isUsedUp(budget, each));
    if (kind !== undefined) return { budget, kind };
  }
  return undefined;
}

function isSpent({ limits, spent }: Budget, kind: BudgetKind): boolean {
  const limit = limits[kind];
  return limit !== null && spent[kind] >= limit;
}

/** No more than is left, so that what is reserved never makes the rest negative. */
function holdOf(budget: Budget, need: BudgetHold): BudgetHold {
  const { tokens, usd } = restOf(budget);
  return {
    tokens: tokens === null ? need.tokens : Math.min(tokens, need.tokens),
    usd: usd === null ? need.usd : Math.min(usd, need.usd),
  };
}

/** Returns the budget with that much set aside. */
export function reserve(budget: Budget, hold: BudgetHold): Budget {
  const { tokens, usd } = budget.reserved;
  return { ...budget, reserved: { tokens: tokens + hold.tokens, usd: usd + hold.usd } };
}

/** What a call used; null = nobody knows, and what was reserved for it counts as used. */
export type CallUse = { [Kind in keyof BudgetHold]: number | null };

/** Returns the budget with a call's reservation turned into what it used, and the time that has passed. */
export function settle(
  budget: Budget,
  { hold, used, ms }: { hold: BudgetHold; used: CallUse; ms: number },
): Budget {
  const { spent, reserved } = budget;
  return {
    ...budget,
    reserved: {
      tokens: Math.max(0, reserved.tokens - hold.tokens),
      usd: Math.max(0, reserved.usd - hold.usd),
    },
    spent: {
      ...spent,
      tokens: spent.tokens + (used.tokens ?? hold.tokens),
      usd: spent.usd + (used.usd ?? hold.usd),
      seconds: spent.seconds + Math.max(0, ms),
    },
  };
}

/** Returns the budget with one more run begun. */
export function countRun(budget: Budget): Budget {
  return { ...budget, spent: { ...budget.spent, runs: budget.spent.runs + 1 } };
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

/** Returns why a child cannot have these limits, or undefined: a budget may only be narrowed. */
export function wideningFault(
  budgets: readonly Budget[],
  wanted: BudgetLimits,
): string | undefined {
  for (const budget of budgets) {
    const rest = restOf(budget);
    for (const kind of BUDGET_KINDS) {
      const [most, asked] = [rest[kind], wanted[kind]];
      if (most === null || asked === null || asked <= most) continue;
      const shown = `${formatAmount(kind, asked)} is more than what is left of the budget of ${budget.ownerKey}, ${formatAmount(kind, most)}`;
      return `budget.${kind} ${shown}; a child may only narrow it: ask for less, or leave ${kind} out`;
    }
  }
  return undefined;
}

/** Returns what a run says that a budget has ended; `setting` = what to raise. */
export function usedUpText({ budget, kind }: UsedUp, setting: string): string {
  const { ownerKey, limits, spent } = budget;
  const limit = formatAmount(kind, limits[kind] ?? 0);
  return `the budget of ${ownerKey} is used up: ${formatAmount(kind, spent[kind])} of ${limit} ${kind} (${setting})`;
}

/** Returns what is said of a budget in dollars over a model without prices. */
export function unpricedText({ ownerKey, model }: { ownerKey: string; model: string }): string {
  return `the budget of ${ownerKey} limits usd, and ${model} has no prices; set cost of the model in models.providers, or take another model`;
}

/** Returns what is added to the system prompt of the last call. */
export function closingPrompt({ kind }: UsedUp): string {
  return `Your budget is used up (${kind}). This is your last reply and you have no tools any more: give the result as far as it is done, and say what is missing.`;
}

function formatAmount(kind: BudgetKind, amount: number): string {
  if (kind === 'usd') return formatUsd(amount);
  return String(Math.floor((amount * 10) / UNITS[kind]) / 10);
}
