/** Sums of tokens and cost, and how they are shown: what is not known is never a zero. */
import { nanosOfUsd, usdOfNanos } from '../../core/money.ts';
import type { ModelCallRow, UsageDayRow } from '../../store/usage-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { UsageTotals } from './usage-answers.ts';

/** What is added up: the columns that a call and a day of calls have in common. */
export type UsageSum = Omit<
  UsageDayRow,
  'sessionKey' | 'day' | 'model' | 'agentId' | 'rootKey' | 'purgedCalls'
>;

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
export function usageOfCall(call: ModelCallRow): UsageSum {
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

/** Returns what is still known of a run whose calls were purged: its sums, as one call. */
export function usageOfPurged(run: RunRow): UsageSum {
  const { costUsd, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = run;
  return {
    calls: 1,
    unknownCalls: 0,
    unpricedCalls: costUsd === null ? 1 : 0,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    costNanos: costUsd === null ? 0 : nanosOfUsd(costUsd),
  };
}

/** Returns the sum as it is told. `costUsd` is what is known of the cost, null when nothing is. */
export function toTotals({ costNanos, ...sum }: UsageSum): UsageTotals {
  const { calls, unknownCalls, unpricedCalls } = sum;
  const isCostKnown = calls === 0 || calls > unknownCalls + unpricedCalls;
  return {
    ...sum,
    totalTokens: sum.inputTokens + sum.outputTokens + sum.cacheReadTokens + sum.cacheWriteTokens,
    costUsd: isCostKnown ? usdOfNanos(costNanos) : null,
    priced: unpricedCalls === 0,
  };
}
