/**
 * The lifecycle of a run (A12):
 *
 *   queued ──claim──▶ running ⇄ (wait, wake) waiting ──end──▶ ok | error | timeout | aborted
 *     ├──drop──▶ aborted          └─claim─┘ after a crash
 *     └──give way, lose──▶ error
 *
 * A run that somebody stopped ends `aborted`, however else it would have ended.
 */
import { must } from '../util/assert.ts';
import type { RunOutcome, RunState } from '../protocol/words.ts';

const OUTCOMES: ReadonlySet<RunState> = new Set<RunState>(['ok', 'error', 'timeout', 'aborted']);

/** True for a terminal state: the run has its one outcome and never gets another. */
export function isOutcome(state: RunState): state is RunOutcome {
  return OUTCOMES.has(state);
}

/** What can happen to a run. */
export type RunStep =
  /** an owner of its lane takes it, by itself or into another turn; or takes it again after a crash */
  | { type: 'claim' }
  /** it waits for other runs */
  | { type: 'wait' }
  /** its wait is over */
  | { type: 'wake' }
  /** it is stopped before it began */
  | { type: 'drop' }
  /** newer messages take its place among those that may wait (B12) */
  | { type: 'give_way' }
  /** the store has lost a part of it, so that it can never be played */
  | { type: 'lose' }
  | { type: 'end'; outcome: RunOutcome };

/** The part of a run that decides what may happen to it. */
export interface RunCourse {
  state: RunState;
  /** who stopped it, null = nobody */
  stoppedBy: string | null;
}

/** Returns the state after the step, or undefined when this cannot happen to such a run. */
export function nextRunState(run: RunCourse, step: RunStep): RunState | undefined {
  const isGoing = run.state === 'running' || run.state === 'waiting';
  switch (step.type) {
    case 'claim':
      return isGoing || (run.state === 'queued' && run.stoppedBy === null) ? 'running' : undefined;
    case 'wait':
      return isGoing ? 'waiting' : undefined;
    case 'wake':
      return isGoing ? 'running' : undefined;
    case 'drop':
      return run.state === 'queued' ? 'aborted' : undefined;
    case 'give_way':
      return run.state === 'queued' && run.stoppedBy === null ? 'error' : undefined;
    case 'lose':
      if (isOutcome(run.state)) return undefined;
      return run.stoppedBy === null ? 'error' : 'aborted';
    case 'end':
      if (!isGoing) return undefined;
      return run.stoppedBy === null ? step.outcome : 'aborted';
  }
}

/** Returns the state after a step that the caller knows to be possible; anything else is a mistake of ours. */
export function moveRun(run: RunCourse & { runId: string }, step: RunStep): RunState {
  return must(
    nextRunState(run, step),
    `run ${run.runId} is ${run.state} and cannot ${step.type} any more`,
  );
}

/** Returns what a stopped run says of itself (A18). */
export function stoppedText(stoppedBy: string): string {
  return `stopped by ${stoppedBy === 'operator' ? 'the operator' : `session ${stoppedBy}`}`;
}
