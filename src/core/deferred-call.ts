/**
 * How a deferred call stands, told from its row and the runs that it waits for. What it has answered stays:
 * a run that ends after its wait was over is still going in its answer.
 */
import type { RunState } from '../protocol/words.ts';
import { isOutcome } from './run-state.ts';

export interface DeferredWait {
  mode: 'any' | 'all';
  createdAt: number;
  deadlineAt: number;
  cancelledAt: number | null;
}

/** What of a run decides. */
export interface RunFacts {
  state: RunState;
  startedAt: number | null;
  endedAt: number | null;
}

/** `at`: when its wait was over. */
export type CallStanding =
  | { type: 'working' }
  | { type: 'answered'; at: number }
  | { type: 'cancelled'; at: number };

/** Returns whether the wait is over, since when, and by what. */
export function standingOf(
  call: DeferredWait,
  { runs, now }: { runs: readonly RunFacts[]; now: number },
): CallStanding {
  if (call.cancelledAt !== null) return { type: 'cancelled', at: call.cancelledAt };
  const ends = runs.map(endOf);
  const satisfiedAt = call.mode === 'all' ? Math.max(...ends) : Math.min(...ends);
  if (satisfiedAt <= call.deadlineAt)
    return { type: 'answered', at: Math.max(satisfiedAt, call.createdAt) };
  return now < call.deadlineAt ? { type: 'working' } : { type: 'answered', at: call.deadlineAt };
}

/** Returns the run as it was then: what came later is not told. */
export function runAsOf<Run extends RunFacts>(run: Run, at: number): Run {
  if (endOf(run) <= at) return run;
  const hasStarted = run.startedAt !== null && run.startedAt <= at;
  return { ...run, state: hasStarted ? 'running' : 'queued', endedAt: null };
}

function endOf({ state, endedAt }: RunFacts): number {
  return isOutcome(state) ? (endedAt ?? 0) : Infinity;
}
