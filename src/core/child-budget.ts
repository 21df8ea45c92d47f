/** What a spawned session may use: what its spawn asks for, within what is left above it (A22). */
import { type Budget, freshBudget, restOf } from './budget.ts';
import { BUDGET_KINDS, type BudgetLimits, formatAmount, narrower } from './budget-limits.ts';
import { unpricedText } from './budget-texts.ts';

/** What the budget of a child is judged by. */
export interface ChildBudgetFacts {
  /** over the requester, that of the root first */
  above: readonly Budget[];
  /** of the child's agent, when it is another one than the requester's */
  ofAgent: { agentId: string; limits: BudgetLimits } | undefined;
  /** what the spawn asks for */
  asked: BudgetLimits | undefined;
  /** `provider/id` of the child */
  model: string;
  isPriced: boolean;
}

/** Returns the limits of the child's own budget: the narrower of both, undefined = it has none of its own. */
export function childLimits({ asked, ofAgent }: ChildBudgetFacts): BudgetLimits | undefined {
  return narrower(asked, ofAgent?.limits);
}

/** Returns why the child cannot have the budget that is asked for, or undefined. */
export function childBudgetFault(facts: ChildBudgetFacts): string | undefined {
  const { asked, above } = facts;
  return asked === undefined ? undefined : wideningFault([...above, ...agentBudgets(facts)], asked);
}

/** Returns why nobody below these budgets can have such limits, or undefined: a budget may only be narrowed. */
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

/** Returns why a budget in dollars cannot count the child, or undefined. */
export function childPriceFault(facts: ChildBudgetFacts): string | undefined {
  const { above, asked, model, isPriced } = facts;
  if (isPriced) return undefined;
  const own = asked === undefined ? [] : [freshBudget('the child', asked)];
  const inDollars = [...above, ...agentBudgets(facts), ...own].find(
    ({ limits }) => limits.usd !== null,
  );
  return inDollars && unpricedText({ ownerKey: inDollars.ownerKey, model });
}

function agentBudgets({ ofAgent }: ChildBudgetFacts): Budget[] {
  return ofAgent === undefined ? [] : [freshBudget(`agent ${ofAgent.agentId}`, ofAgent.limits)];
}
