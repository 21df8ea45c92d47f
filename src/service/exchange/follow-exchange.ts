/** What the end of a run means for the exchange it belongs to, or for one that waited for it (A10). */
import {
  afterPrimary,
  afterTurn,
  type ExchangeStep,
  type TurnResult,
} from '../../core/exchange.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { ExchangeRow, RunRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';

/** Books the run's result in its exchange and adds the follow-up job, in the closing transaction. */
export async function followExchange(
  tx: WriteTx,
  { run, isReplySkip }: { run: RunRow; isReplySkip: boolean },
): Promise<void> {
  for (const waiting of await tx.exchanges.dueAfterRun(run.runId)) {
    await addAdvanceJob(tx, waiting.exchangeId);
  }
  if (run.exchangeId === null) return;
  const exchange = await tx.exchanges.get(run.exchangeId);
  if (exchange === undefined || exchange.state === 'done') return;
  const outcome = must(
    isOutcome(run.state) ? run.state : undefined,
    `run ${run.runId} has not ended`,
  );
  const result = { outcome, reply: run.reply ?? '', isReplySkip };
  await bookResult(tx, exchange, { run, result });
}

async function bookResult(
  tx: WriteTx,
  exchange: ExchangeRow,
  { run, result }: { run: RunRow; result: TurnResult },
): Promise<void> {
  const { exchangeId } = exchange;
  if (run.purpose === 'exchange_announce') {
    return tx.exchanges.update(exchangeId, { state: 'done', endedAt: tx.now });
  }
  const isPrimary = run.runId === exchangeId;
  const turns = isPrimary ? 0 : exchange.turns + 1;
  const step = isPrimary
    ? afterPrimary(exchange, result)
    : afterTurn({ maxTurns: exchange.maxTurns, turns }, result);
  await tx.exchanges.update(exchangeId, {
    turns,
    ...repliesOf(isPrimary, result),
    ...stateOf(step, { now: tx.now, error: run.error }),
  });
  if (step.next !== 'done') await addAdvanceJob(tx, exchangeId);
}

/** The word that ends the loop is never kept as a reply. */
function repliesOf(isPrimary: boolean, result: TurnResult): Partial<ExchangeRow> {
  if (result.outcome !== 'ok' || result.isReplySkip || result.reply === '') return {};
  return isPrimary
    ? { firstReply: result.reply, latestReply: result.reply }
    : { latestReply: result.reply };
}

function stateOf(
  step: ExchangeStep,
  { now, error }: { now: number; error: string | null },
): Partial<ExchangeRow> {
  if (step.next === 'turn') return { state: 'due' };
  const end = { endReason: step.endReason, endDetail: step.endReason === 'error' ? error : null };
  return step.next === 'announce'
    ? { state: 'due', ...end }
    : { state: 'done', endedAt: now, ...end };
}

/** Adds the job that takes the exchange one step on. */
async function addAdvanceJob(tx: WriteTx, exchangeId: string): Promise<void> {
  await tx.jobs.add({
    jobKey: `advance-exchange:${exchangeId}`,
    kind: 'advance-exchange',
    payloadJson: JSON.stringify({ exchangeId }),
    runAt: tx.now,
  });
  tx.signal({ type: 'job' });
}
