import type { ExchangeMove } from '../../core/exchange.ts';
import type { WriteTx } from '../../store/store.ts';

/** Writes what a step changes in its exchange, with the job that takes it on where one is due. */
export async function applyMove(
  tx: WriteTx,
  exchangeId: string,
  { change, follow }: ExchangeMove,
): Promise<void> {
  const end = change.state === 'done' ? { endedAt: tx.now } : {};
  await tx.exchanges.update(exchangeId, { ...change, ...end });
  if (follow === 'advance') await addAdvanceJob(tx, exchangeId);
}

/** Adds the job that takes the exchange one step on. */
export async function addAdvanceJob(tx: WriteTx, exchangeId: string): Promise<void> {
  await tx.jobs.add({
    jobKey: `advance-exchange:${exchangeId}`,
    kind: 'advance-exchange',
    payloadJson: JSON.stringify({ exchangeId }),
    runAt: tx.now,
  });
  tx.signal({ type: 'job' });
}
