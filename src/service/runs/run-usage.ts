/** Tokens and cost of a run, counted with each assistant message that is committed. */
import { costOf } from '../../core/models.ts';
import type { AssistantMessage } from '../../protocol/message.ts';
import type { WriteTx } from '../../store/store.ts';
import { wholeUpTo } from '../../util/bounded.ts';
import type { ServiceContext } from '../context.ts';

/** More than any model call can use. */
const MAX_CALL_TOKENS = 1_000_000_000;

/** Adds what one model call used to the run's row. Unknown usage stays unknown, unpriced cost stays null (B7.7). */
export async function addUsage(
  tx: WriteTx,
  { runId, message, isPriced }: { runId: string; message: AssistantMessage; isPriced: boolean },
): Promise<void> {
  const model = `${message.provider}/${message.model}`;
  const usage = message.usage;
  if (usage === undefined) return tx.runs.update(runId, { model });
  const run = await tx.runs.get(runId);
  if (run === undefined) return;
  await tx.runs.update(runId, {
    model,
    inputTokens: run.inputTokens + tokens(usage.input),
    outputTokens: run.outputTokens + tokens(usage.output),
    cacheReadTokens: run.cacheReadTokens + tokens(usage.cacheRead),
    cacheWriteTokens: run.cacheWriteTokens + tokens(usage.cacheWrite),
    costUsd: isPriced ? (run.costUsd ?? 0) + dollars(usage.cost.total) : run.costUsd,
    usageKnown: true,
  });
}

/** Returns whether the model of this call has prices in the configuration (A24). */
export function isPriced(context: ServiceContext, message: AssistantMessage): boolean {
  return costOf(context.config(), { provider: message.provider, id: message.model }) !== undefined;
}

/** Size of the context after this call: what the next one starts from (A7). Undefined when unknown. */
export function contextTokensAfter(message: AssistantMessage): number | undefined {
  const usage = message.usage;
  if (usage === undefined) return undefined;
  return [usage.input, usage.cacheRead, usage.cacheWrite, usage.output]
    .map(tokens)
    .reduce((sum, count) => sum + count);
}

/** What a model reports is a claim: a number that no call can have used must not stop the run from closing. */
function tokens(reported: number): number {
  return wholeUpTo(reported, MAX_CALL_TOKENS);
}

function dollars(reported: number): number {
  return Number.isFinite(reported) ? Math.min(Math.max(reported, 0), MAX_CALL_TOKENS) : 0;
}
