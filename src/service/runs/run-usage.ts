/** Tokens and cost of a run, counted with each assistant message that is committed. */
import { costOf } from '../../core/models.ts';
import type { AssistantMessage } from '../../protocol/message.ts';
import type { WriteTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';

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
    inputTokens: run.inputTokens + usage.input,
    outputTokens: run.outputTokens + usage.output,
    cacheReadTokens: run.cacheReadTokens + usage.cacheRead,
    cacheWriteTokens: run.cacheWriteTokens + usage.cacheWrite,
    costUsd: isPriced ? (run.costUsd ?? 0) + usage.cost.total : run.costUsd,
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
  return usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
}
