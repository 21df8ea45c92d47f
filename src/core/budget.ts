/**
 * Budgets over a tree of sessions (A22). A session is under its own budget and those of all sessions above it:
 *
 *   join    ──▶ a run that begins is counted, and time goes by while any run of the tree is going
 *   reserve ──▶ call | close (one last call without tools) | refuse (a run that has not begun)
 *   settle  ──▶ what a call used is spent, what was reserved for it is free
 *   leave   ──▶ the run has ended; with the last one the time stops
 *
 * What a call will use is not known before, so that as much is reserved as the call before it used. Whoever finds less
 * than that left makes its last call. Nothing here knows rows or reads a clock.
 */
import {
  BUDGET_KINDS,
  type BudgetAmounts,
  type BudgetKind,
  type BudgetLimits,
} from './budget-limits.ts';

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
  /** runs that are going under it */
  going: number;
  /** its time is counted up to here, epoch ms; null = no run is going */
  countedTo: number | null;
}

/** What keeps a call from being one of many. */
export interface UsedUp {
  budget: Budget;
  kind: BudgetKind;
}

/** What follows, and what each budget sets aside for it. */
export type CallStep =
  | { do: 'call'; holds: BudgetHold[] }
  | { do: 'close'; holds: BudgetHold[]; by: UsedUp };

/** What a call used; null = nobody knows, and what was reserved for it counts as used. */
export type CallUse = { [Kind in keyof BudgetHold]: number | null };
/** Of a call that cannot have been billed. */
export const NO_USE: CallUse = { tokens: 0, usd: 0 };
/** Of a call whose answer, if there was one, is lost. */
export const UNKNOWN_USE: CallUse = { tokens: null, usd: null };

/** Returns a budget of which nothing is used. */
export function freshBudget(ownerKey: string, limits: BudgetLimits): Budget {
  const spent = { tokens: 0, usd: 0, runs: 0, seconds: 0 };
  return { ownerKey, limits, spent, reserved: { tokens: 0, usd: 0 }, going: 0, countedTo: null };
}

/** Returns what is left, never below 0; null = no limit. What is reserved is not left. */
export function restOf(budget: Budget): BudgetLimits {
  const { limits, spent } = budget;
  const rest: BudgetLimits = { ...limits };
  for (const kind of BUDGET_KINDS) {
    const limit = limits[kind];
    if (limit !== null) rest[kind] = Math.max(0, limit - spent[kind] - heldOf(budget, kind));
  }
  return rest;
}

/** Returns what is set aside for calls under way: of runs and seconds nothing ever is. */
export function heldOf({ reserved }: Budget, kind: BudgetKind): number {
  return kind === 'tokens' || kind === 'usd' ? reserved[kind] : 0;
}

/** Returns what a run that begins may do: one whose budget is spent asks nothing at all. */
export function firstCall(
  budgets: readonly Budget[],
  need: BudgetHold,
): CallStep | { do: 'refuse'; by: UsedUp } {
  const by = firstUsedUp(budgets, isSpent);
  return by === undefined ? nextCall(budgets, need) : { do: 'refuse', by };
}

/** Returns what a run that is going may do, and what each of its budgets sets aside for it. */
export function nextCall(budgets: readonly Budget[], need: BudgetHold): CallStep {
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
  return { ...budget, reserved: { tokens: plus(tokens, hold.tokens), usd: plus(usd, hold.usd) } };
}

/** Returns the budget with a call's reservation turned into what it used. */
export function settle(
  budget: Budget,
  { hold, used }: { hold: BudgetHold; used: CallUse },
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
      tokens: plus(spent.tokens, used.tokens ?? hold.tokens),
      usd: plus(spent.usd, used.usd ?? hold.usd),
    },
  };
}

/** Returns the budget with one more run begun. */
export function countRun(budget: Budget): Budget {
  return { ...budget, spent: { ...budget.spent, runs: plus(budget.spent.runs, 1) } };
}

/** Returns the budget with one more run that is going; with the first one its time begins. */
export function join(budget: Budget, now: number): Budget {
  return { ...budget, going: budget.going + 1, countedTo: budget.countedTo ?? now };
}

/** Returns the budget with one run less that is going; with the last one its time stops. */
export function leave(budget: Budget, now: number): Budget {
  const counted = passTime(budget, now);
  const going = Math.max(0, budget.going - 1);
  return { ...counted, going, countedTo: going === 0 ? null : counted.countedTo };
}

/** Returns the budget with its time counted up to now. Runs side by side take the same time once. */
export function passTime(budget: Budget, now: number): Budget {
  const { countedTo, spent } = budget;
  if (countedTo === null || now <= countedTo) return budget;
  const seconds = plus(spent.seconds, now - countedTo);
  return { ...budget, countedTo: now, spent: { ...spent, seconds } };
}

/** Returns the budget without the time up to now, in which nobody played its run. */
export function skipTime(budget: Budget, now: number): Budget {
  return budget.countedTo === null ? budget : { ...budget, countedTo: now };
}

/** Returns the budget as if nothing had been used; what runs that are going have reserved stays so. */
export function startAnew(budget: Budget, now: number): Budget {
  return { ...skipTime(budget, now), spent: { tokens: 0, usd: 0, runs: 0, seconds: 0 } };
}

/** A sum never leaves the whole numbers that a store keeps exactly. */
function plus(sum: number, amount: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, sum + amount);
}
