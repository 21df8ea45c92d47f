/**
 * A newer message between the same two closes what still talks (A10). A queued turn of it never begins; a turn
 * that has begun goes to its end, because it may be in the middle of work, or be the very run that sends: what
 * it says stays in its transcript and is told to nobody.
 */
import { moveExchange } from '../../core/exchange.ts';
import { currentRunId } from '../../core/exchange-runs.ts';
import { moveRun } from '../../core/run-state.ts';
import type { ExchangeRow } from '../../store/follow-up-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { applyMove } from './apply-move.ts';

/** What a withdrawn turn says of itself. */
const SUPERSEDED_TEXT = 'withdrawn: a newer message between the two superseded its exchange';

/** Closes the exchanges of the pair that still talk, and returns their turns that now never begin. */
export async function supersedeExchanges(
  tx: WriteTx,
  pair: { requesterKey: string; targetKey: string },
): Promise<RunRow[]> {
  const withdrawn: RunRow[] = [];
  for (const older of await tx.exchanges.openOfPair(pair.requesterKey, pair.targetKey)) {
    const move = moveExchange(older, { type: 'superseded' });
    if (move === undefined) continue;
    await applyMove(tx, older.exchangeId, move);
    const turn = move.follow === 'drop-turn' ? await withdrawTurn(tx, older) : undefined;
    if (turn !== undefined) withdrawn.push(turn);
  }
  return withdrawn;
}

/** Holds the lane first: either the turn has begun by then, or it never will. */
async function withdrawTurn(tx: WriteTx, exchange: ExchangeRow): Promise<RunRow | undefined> {
  const runId = currentRunId(exchange);
  const sessionKey = (await tx.runs.get(runId))?.sessionKey;
  if (sessionKey === undefined) return undefined;
  await tx.lanes.hold(sessionKey);
  const run = await tx.runs.get(runId);
  if (run?.state !== 'queued') return undefined;
  const end = {
    state: moveRun(run, { type: 'drop' }),
    endedAt: tx.now,
    reply: '',
    error: SUPERSEDED_TEXT,
  };
  await tx.runs.update(runId, end);
  await tx.inputs.markDropped(runId);
  await tx.lanes.removeQueued(sessionKey);
  tx.signal({ type: 'run', runId });
  tx.signal({ type: 'lane', sessionKey });
  tx.signal({ type: 'session', sessionKey });
  return { ...run, ...end };
}
