/** A full disk passes, but until a run has its outcome its lane cannot go on. */
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../../protocol/errors.ts';
import { backoffMs } from '../../util/backoff.ts';
import type { ActiveRun } from './active-runs.ts';
import type { ClaimedRun } from './claim-run.ts';
import { type ClosedRun, closeRun, type RunEnd } from './close-run.ts';
import type { RunContext } from '../context.ts';

/** Half a minute in all; after that the next start writes the outcome. */
const MAX_RETRIES = 5;

/** Closes the run, again and again while the store refuses it; rejects when that lasts, or when the lane is lost. */
export async function settleRun(
  context: RunContext,
  { active, claimed, end }: { active: ActiveRun; claimed: ClaimedRun; end: RunEnd },
): Promise<ClosedRun> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await closeRun(context, claimed, end);
    } catch (error) {
      const isPassing = error instanceof GatewayError && error.code === 'unavailable';
      if (!isPassing || failures >= MAX_RETRIES || active.cause() === 'drain') throw error;
      context.logger.error(
        { runId: claimed.run.runId, err: error },
        'outcome not written; tried again',
      );
      await pause(backoffMs(failures), active.signal);
    }
  }
}

/** Ends early when the run is aborted meanwhile: the gateway stops. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const isAborted = signal.aborted;
  await delay(ms, undefined, isAborted ? {} : { signal }).catch(() => {});
}
