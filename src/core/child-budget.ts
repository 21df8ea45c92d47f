/** What a spawned session may use: what its spawn asks for, within what is left above it (A22). */
import {
  type Budget,
  type BudgetLimits,
  freshBudget,
  narrower,
  unpricedText,
  wideningFault,
} from './budget.ts';

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
