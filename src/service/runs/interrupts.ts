/**
 * Interrupts (B12): a message of a person that waits in the mode `interrupt` ends the turn before it. The
 * waiting message is the durable mark; the signal of its acceptance only makes it quick.
 */
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ActiveRun, ActiveRuns } from './active-runs.ts';
import type { RunContext } from '../context.ts';

/** What an interrupted run says of itself. */
export const INTERRUPTED_TEXT = 'the run was stopped: a newer message interrupted it';

/** True when a message that is newer than this run waits to interrupt it. */
async function isInterrupted(tx: ReadTx, run: RunRow): Promise<boolean> {
  const next = await tx.runs.nextQueued(run.sessionKey);
  return next?.queueMode === 'interrupt' && acceptedOrder(next) > acceptedOrder(run);
}

/** Returns the place of a run in the order of acceptance, also of one that stands ahead of others. */
export function acceptedOrder({ seq }: Pick<RunRow, 'seq'>): number {
  return Math.abs(seq);
}

/** Ends an active run when it is interrupted. */
export async function endIfInterrupted(context: RunContext, active: ActiveRun): Promise<void> {
  const isEnding = await context.store.read(async (tx) => {
    const run = await tx.runs.get(active.runId);
    return run !== undefined && isInterrupted(tx, run);
  });
  if (isEnding) active.abort('interrupted');
}

/** Looks at each accepted message whether it interrupts a run of this process; returns the end of it. */
export function watchInterrupts(context: RunContext, activeRuns: ActiveRuns): () => void {
  return context.store.onSignal((signal) => {
    if (signal.type !== 'lane' && signal.type !== 'resync') return;
    for (const active of activeRuns.all()) {
      if (signal.type === 'lane' && active.fence.sessionKey !== signal.sessionKey) continue;
      endIfInterrupted(context, active).catch((error: unknown) => {
        context.logger.warn({ runId: active.runId, err: error }, 'not looked for an interrupt');
      });
    }
  });
}
