/** Sums of what model calls used, in whole numbers. */

/** What is added up: the columns that a call and a day of calls have in common. */
export interface UsageSum {
  calls: number;
  /** of these: nobody knows what they used */
  unknownCalls: number;
  /** of these: what they used is known, and the model has no prices */
  unpricedCalls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** of the calls whose cost is known */
  costNanos: number;
}

/** What one call used, as far as it is known. */
export interface CallUsage extends Pick<
  UsageSum,
  'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'
> {
  usageKnown: boolean;
  costNanos: number | null;
}

/** Returns the sum of nothing. */
export function noUsage(): UsageSum {
  return {
    calls: 0,
    unknownCalls: 0,
    unpricedCalls: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costNanos: 0,
  };
}

/** Adds to a sum in place; all of it are whole numbers, so that the order does not matter. */
export function addUsage(sum: UsageSum, added: UsageSum): void {
  sum.calls += added.calls;
  sum.unknownCalls += added.unknownCalls;
  sum.unpricedCalls += added.unpricedCalls;
  sum.inputTokens += added.inputTokens;
  sum.outputTokens += added.outputTokens;
  sum.cacheReadTokens += added.cacheReadTokens;
  sum.cacheWriteTokens += added.cacheWriteTokens;
  sum.costNanos += added.costNanos;
}

/** Returns one call as a sum. */
export function usageOfCall(call: CallUsage): UsageSum {
  const { usageKnown, costNanos } = call;
  return {
    calls: 1,
    unknownCalls: usageKnown ? 0 : 1,
    unpricedCalls: usageKnown && costNanos === null ? 1 : 0,
    inputTokens: call.inputTokens,
    outputTokens: call.outputTokens,
    cacheReadTokens: call.cacheReadTokens,
    cacheWriteTokens: call.cacheWriteTokens,
    costNanos: costNanos ?? 0,
  };
}
