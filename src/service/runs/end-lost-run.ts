/** A run that the store has lost a part of can never be played. It ends, so that its waiters are told and its lane goes on. */
import { moveRun } from '../../core/run-state.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { dropHolds } from '../budgets/reserve-call.ts';
import { followExchange } from '../exchange/follow-exchange.ts';
import type { RunContext } from '../context.ts';
import { followSpawn } from '../spawn/follow-spawn.ts';
import { endMerged } from './merge-runs.ts';

/** Returns the session of a run that is to be played, or what the store has lost of the run. */
export async function partsOf(
  tx: ReadTx,
  run: RunRow,
): Promise<{ session: SessionRow } | { loss: string }> {
  const session = await tx.sessions.get(run.sessionKey);
  if (session === undefined) return { loss: 'its session' };
  const window = await tx.windows.get(run.sessionId ?? session.sessionId);
  if (window === undefined) return { loss: 'its transcript' };
  const isMissing = run.state === 'queued' && (await tx.inputs.get(run.runId)) === undefined;
  return isMissing ? { loss: 'its message' } : { session };
}

/** Ends such a run with everything that follows from its end, and returns it with what had joined its turn. */
export async function endLostRun(
  tx: WriteTx,
  { run, loss }: { run: RunRow; loss: string },
): Promise<RunRow[]> {
  const { runId, sessionKey } = run;
  const end = {
    state: moveRun(run, { type: 'lose' }),
    endedAt: tx.now,
    reply: '',
    error: `${loss} was lost from the store, see "trunkline doctor"`,
  } as const;
  await tx.runs.update(runId, end);
  const input = await tx.inputs.get(runId);
  if (input?.state === 'pending') await tx.inputs.markDropped(runId);
  await tx.waits.endOfRun(runId, tx.now);
  await dropHolds(tx, runId);
  await tx.toolCalls.dropHeld(runId);
  const ended = { ...run, ...end };
  const merged = await endMerged(tx, ended);
  await followExchange(tx, { run: ended, isReplySkip: false });
  await followSpawn(tx, ended);
  tx.signal({ type: 'run', runId });
  tx.signal({ type: 'lane', sessionKey });
  tx.signal({ type: 'session', sessionKey });
  return [ended, ...merged];
}

/** Tells who watches, and the log. */
export function tellLost({ events, clock, logger }: RunContext, lost: readonly RunRow[]): void {
  for (const { runId, sessionKey, state, error, startedAt, endedAt } of lost) {
    logger.error({ runId, sessionKey, error }, 'a run was ended: the store has lost a part of it');
    events.emit({
      type: 'ended',
      runId,
      sessionKey,
      state: state === 'aborted' ? 'aborted' : 'error',
      reply: '',
      ...(error === null ? {} : { error }),
      ...(startedAt === null ? {} : { startedAt }),
      endedAt: endedAt ?? clock.now(),
      delivered: false,
    });
  }
}
