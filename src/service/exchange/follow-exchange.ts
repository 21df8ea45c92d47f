/** What the end of a run means for the exchange it belongs to, or for one that waited for it (A10). */
import { type ExchangeEvent, moveExchange } from '../../core/exchange.ts';
import { partOf } from '../../core/exchange-runs.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { addAdvanceJob, applyMove } from './apply-move.ts';

/** Books the run's result in its exchange and adds the follow-up job, in the closing transaction. */
export async function followExchange(
  tx: WriteTx,
  ended: { run: RunRow; isReplySkip: boolean },
): Promise<void> {
  for (const waiting of await tx.exchanges.dueAfterRun(ended.run.runId)) {
    await addAdvanceJob(tx, waiting.exchangeId);
  }
  const { exchangeId } = ended.run;
  const exchange = exchangeId === null ? undefined : await tx.exchanges.get(exchangeId);
  const event = exchange === undefined ? undefined : eventOf(exchange.exchangeId, ended);
  if (exchange === undefined || event === undefined) return;
  const move = moveExchange(exchange, event);
  if (move !== undefined) await applyMove(tx, exchange.exchangeId, move);
}

function eventOf(
  exchangeId: string,
  { run, isReplySkip }: { run: RunRow; isReplySkip: boolean },
): ExchangeEvent | undefined {
  const part = partOf(exchangeId, run.runId);
  const { state, reply, error } = run;
  const outcome = must(isOutcome(state) ? state : undefined, `run ${run.runId} has not ended`);
  const result = { outcome, reply: reply ?? '', isReplySkip, error };
  switch (part?.type) {
    case 'primary':
      return { type: 'primary-ended', result };
    case 'turn':
      return { type: 'turn-ended', turn: part.turn, result };
    case 'announce':
      return { type: 'announce-ended' };
    case undefined:
      return undefined;
  }
}
