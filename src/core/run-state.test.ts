import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RUN_STATES, type RunState } from '../protocol/words.ts';
import { isOutcome, nextRunState, type RunCourse, type RunStep, stoppedText } from './run-state.ts';

const OUTCOMES = ['ok', 'error', 'timeout', 'aborted'] as const;
const STEPS: RunStep[] = [
  { type: 'claim' },
  { type: 'wait' },
  { type: 'wake' },
  { type: 'drop' },
  { type: 'give_way' },
  { type: 'lose' },
  ...OUTCOMES.map((outcome) => ({ type: 'end', outcome }) as const),
];
/** A stop marks a run; the steps that end it come after. */
const events = fc.array(fc.constantFrom('stop' as const, ...STEPS), { maxLength: 40 });

/** Plays events in the given order; what cannot happen to the run leaves it as it is. */
function play(order: readonly ('stop' | RunStep)[]): { run: RunCourse; path: RunState[] } {
  let run: RunCourse = { state: 'queued', stoppedBy: null };
  const path: RunState[] = [run.state];
  for (const event of order) {
    if (event === 'stop') {
      if (!isOutcome(run.state)) run = { ...run, stoppedBy: 'operator' };
      continue;
    }
    const state = nextRunState(run, event);
    if (state === undefined) continue;
    run = { ...run, state };
    path.push(state);
  }
  return { run, path };
}

describe('the life of a run', () => {
  it('[RL1] has one outcome at most, whatever happens in whatever order', () => {
    fc.assert(
      fc.property(events, (order) => {
        const { path } = play(order);
        const first = path.findIndex((state) => isOutcome(state));
        assert.ok(first === -1 || first === path.length - 1, path.join(' → '));
      }),
      { numRuns: 1000 },
    );
  });

  it('[RL1] has a way out of every state that it can be in', () => {
    fc.assert(
      fc.property(events, (order) => {
        const { run } = play(order);
        if (isOutcome(run.state)) return;
        const next = STEPS.map((step) => nextRunState(run, step));
        const after = next.filter((state) => state !== undefined);
        const isNear = after.some((state) => isOutcome(state));
        const isOneOff = nextRunState(run, { type: 'claim' }) === 'running';
        assert.ok(isNear || isOneOff, `${run.state} ${run.stoppedBy}`);
      }),
      { numRuns: 1000 },
    );
  });

  it('[RL1] ends `aborted` once it was stopped, however it comes to its end', () => {
    fc.assert(
      fc.property(events, events, (before, after) => {
        const { run } = play(before);
        if (isOutcome(run.state)) return;
        const { run: ended } = play([...before, 'stop', ...after]);
        if (isOutcome(ended.state)) assert.equal(ended.state, 'aborted');
        assert.notEqual(nextRunState({ ...ended, state: 'queued' }, { type: 'claim' }), 'running');
      }),
      { numRuns: 1000 },
    );
  });

  it('[RL1] never begins again after its end, and ends only once begun, or when it is dropped, gives way or is lost', () => {
    for (const state of RUN_STATES) {
      for (const stoppedBy of [null, 'operator']) {
        const run = { state, stoppedBy };
        const possible = STEPS.filter((step) => nextRunState(run, step) !== undefined);
        const names = [...new Set(possible.map(({ type }) => type))].join(' ');
        const isQueued = state === 'queued';
        const queued = stoppedBy === null ? 'claim drop give_way lose' : 'drop lose';
        const going = isOutcome(state) ? '' : 'claim wait wake lose end';
        assert.equal(names, isQueued ? queued : going, state);
      }
    }
  });

  it('[SO1] says who stopped it', () => {
    assert.equal(stoppedText('operator'), 'stopped by the operator');
    assert.equal(stoppedText('agent:a:main'), 'stopped by session agent:a:main');
  });
});
