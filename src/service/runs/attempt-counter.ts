/** Attempts that count: the process died in a step that had been going for a while (DESIGN 4). */
import type { WriteTx } from '../../store/store.ts';
import type { ActiveRun } from './active-runs.ts';
import type { RunContext } from '../context.ts';

/** A process that dies sooner did not die of this step. */
const COUNTS_AFTER_MS = 2000;

export interface AttemptCounter {
  /** The transcript has advanced (and its commit set the count to 0): a new step begins. */
  advance(): void;
  stop(): void;
  /** Stops for good and takes back what this step counted: an orderly stop is no attempt. */
  leave(): Promise<void>;
}

/**
 * Counts an attempt in the run's row when a step goes on for two seconds. The commit that ends the
 * step sets the count back, so that only a step the process died in leaves one behind.
 */
export function startAttemptCounter(context: RunContext, active: ActiveRun): AttemptCounter {
  let timer: NodeJS.Timeout | undefined;
  let counted: Promise<boolean> | undefined;
  let hasLeft = false;
  const stop = (): void => clearTimeout(timer);
  const advance = (): void => {
    stop();
    counted = undefined;
    if (hasLeft) return;
    timer = setTimeout(() => {
      counted = isWritten(
        context,
        context.store.write('count-attempt', (tx) => addAttempts(tx, active, 1)),
      );
    }, COUNTS_AFTER_MS);
  };
  const leave = async (): Promise<void> => {
    stop();
    hasLeft = true;
    if (!(await counted)) return;
    await isWritten(
      context,
      context.store.write('uncount-attempt', (tx) => addAttempts(tx, active, -1)),
    );
  };
  advance();
  return { advance, stop, leave };
}

async function addAttempts(tx: WriteTx, { fence, runId }: ActiveRun, by: number): Promise<void> {
  await tx.lanes.lock(fence);
  const run = await tx.runs.get(runId);
  if (run !== undefined) await tx.runs.update(runId, { attempts: Math.max(0, run.attempts + by) });
}

async function isWritten(context: RunContext, writing: Promise<void>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    context.logger.warn({ err: error }, 'attempt not counted');
    return false;
  }
}
