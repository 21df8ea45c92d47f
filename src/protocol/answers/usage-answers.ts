/** What is told of tokens, cost and budgets. */
export type UsageBy = 'session' | 'agent' | 'model' | 'day';

export interface UsageTotals {
  /** model calls that may have been billed */
  calls: number;
  /** of these: interrupted, or the model did not say; what they used is not in the sums */
  unknownCalls: number;
  /** of these: of models without prices; their tokens are in the sums, their cost is not */
  unpricedCalls: number;
  /** without those of the cache */
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  totalTokens: number;
  /** what is known of the cost, exact to a billionth; null = nothing is */
  costUsd: number | null;
  /** false = the cost is not all of it, because a model has no prices */
  priced: boolean;
}

export interface UsageGroup extends UsageTotals {
  /** session key, agent, model or day */
  key: string;
}

/** `tokens`, `usd`, `runs`, `seconds`, each where the budget has a limit. */
export interface BudgetFigures {
  tokens?: number | undefined;
  usd?: number | undefined;
  runs?: number | undefined;
  seconds?: number | undefined;
}

/** A budget that counts what a session does. */
export interface BudgetView {
  /** the session that it was given to; it counts all below */
  sessionKey: string;
  limits: BudgetFigures;
  spent: BudgetFigures;
  /** set aside for model calls under way */
  reserved: BudgetFigures;
  rest: BudgetFigures;
}

export interface UsageAnswer {
  /** of the session that was asked for; absent when it is under none */
  budgets?: BudgetView[];
  runId?: string;
  sessionKey?: string;
  tree?: true;
  /** the run whose turn took the message in; its usage is there */
  mergedInto?: string;
  since?: string;
  until?: string;
  by?: UsageBy;
  groups?: UsageGroup[];
  count?: number;
  limitApplied?: number;
  hasMore?: boolean;
  nextCursor?: string;
  /** of all that was asked for; absent when a page by session is not all of it */
  total?: UsageTotals;
}
