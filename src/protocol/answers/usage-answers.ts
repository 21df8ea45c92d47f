/** What is told of tokens and cost. */
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

export interface UsageAnswer {
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
