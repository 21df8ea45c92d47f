import { moveExchange } from '../../core/exchange.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { ExchangeRow } from '../../store/follow-up-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { applyMove } from '../exchange/apply-move.ts';

/**
 * Ends the exchanges that a session takes part in, with the reason. A turn of the other side that is
 * going ends by itself and leads nowhere. With `keepsWaiting` one whose first message waits in the
 * session's own lane goes on with that message.
 */
export async function endExchangesOf(
  tx: WriteTx,
  { key, why, keepsWaiting }: { key: string; why: string; keepsWaiting: boolean },
): Promise<void> {
  for (const exchange of await tx.exchanges.openOf(key)) {
    if (keepsWaiting && (await waitsIn(tx, { exchange, key }))) continue;
    const move = moveExchange(exchange, { type: 'stopped', detail: why });
    if (move !== undefined) await applyMove(tx, exchange.exchangeId, move);
  }
}

async function waitsIn(
  tx: WriteTx,
  { exchange, key }: { exchange: ExchangeRow; key: string },
): Promise<boolean> {
  if (exchange.state !== 'primary' || exchange.targetKey !== key) return false;
  const first = await tx.runs.get(exchange.exchangeId);
  return first !== undefined && !isOutcome(first.state) && first.stoppedBy === null;
}
