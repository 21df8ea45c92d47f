/** Attempts that count: the process died in a step that had been going for a while (DESIGN 4). */
import type { ActiveRun } from './active-runs.ts';
import type { RunContext } from './context.ts';

/** A process that dies sooner did not die of this step. */
const COUNTS_AFTER_MS = 2000;

export interface AttemptCounter {
  /** The transcript has advanced (and its commit set the count to 0): a new step begins. */
  advance(): void;
  stop(): void;
}

/**
 * Counts an attempt in the run's row when a step goes on for two seconds. The commit that ends the
 * step sets the count back, so that only a step the process died in leaves one behind.
 */
export function startAttemptCounter(context: RunContext, active: ActiveRun): AttemptCounter {
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  const advance = (): void => {
    stop();
    timer = setTimeout(() => void countAttempt(context, active), COUNTS_AFTER_MS);
  };
  advance();
  return { advance, stop };
}

async function countAttempt(context: RunContext, active: ActiveRun): Promise<void> {
  try {
    await context.store.write('count-attempt', async (tx) => {
      await tx.lanes.lock(active.fence);
      const run = await tx.runs.get(active.runId);
      if (run !== undefined) await tx.runs.update(active.runId, { attempts: run.attempts + 1 });
    });
  } catch (error) {
    context.logger.warn({ runId: active.runId, err: error }, 'attempt not counted');
  }
}
