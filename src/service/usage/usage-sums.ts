/** How sums of tokens and cost are told: what is not known is never a zero. */
import { nanosOfUsd, usdOfNanos } from '../../core/money.ts';
import type { UsageSum } from '../../core/usage-sum.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { UsageTotals } from '../../protocol/answers/usage-answers.ts';

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
