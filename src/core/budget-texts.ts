/** What is said of budgets to people and to models (A22). */
import { heldOf, type UsedUp } from './budget.ts';
import { formatAmount } from './budget-limits.ts';

/** Returns what a run says that a budget has ended; `remedy` = what to do to go on. */
export function usedUpText({ budget, kind }: UsedUp, remedy: string): string {
  const { ownerKey, limits, spent } = budget;
  const limit = formatAmount(kind, limits[kind] ?? 0);
  const held = heldOf(budget, kind);
  const others = held === 0 ? '' : `, ${formatAmount(kind, held)} reserved for calls under way`;
  return `the budget of ${ownerKey} is used up: ${formatAmount(kind, spent[kind])} of ${limit} ${kind}${others} (${remedy})`;
}

/** Returns what is said of a budget in dollars over a model without prices. */
export function unpricedText({ ownerKey, model }: { ownerKey: string; model: string }): string {
  return `the budget of ${ownerKey} limits usd, and ${model} has no prices; set cost of the model in models.providers, or take another model`;
}

/** Returns what is added to the system prompt of the last call. */
export function closingPrompt({ kind }: UsedUp): string {
  return `Your budget is used up (${kind}). This is your last reply and you have no tools any more: give the result as far as it is done, and say what is missing.`;
}
