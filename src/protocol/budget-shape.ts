/** A budget as it is written, in the configuration and by a spawn (A22). */
import { z } from 'zod';

/** What each limit may be. Far from where sums would no longer be exact. */
export const budgetShape = z.strictObject({
  tokens: z.int().positive().max(1_000_000_000_000).exactOptional(),
  usd: z.number().positive().max(1_000_000).exactOptional(),
  runs: z.int().positive().max(1_000_000_000).exactOptional(),
  seconds: z.number().positive().max(1_000_000_000).exactOptional(),
});

/** The same in words. */
export const BUDGET_RULE =
  'an object with one or more of tokens (whole, up to 10^12), usd (up to 10^6), runs (whole, up to 10^9) and seconds (up to 10^9), each above 0';
