/**
 * The lifecycle of a run (A12):
 *
 *   queued → running ⇄ waiting → ok | error | timeout | aborted
 */
import type { RunOutcome, RunState } from '../protocol/words.ts';

const OUTCOMES: ReadonlySet<RunState> = new Set<RunState>(['ok', 'error', 'timeout', 'aborted']);

/** True for a terminal state: the run has its one outcome and never gets another. */
export function isOutcome(state: RunState): state is RunOutcome {
  return OUTCOMES.has(state);
}
