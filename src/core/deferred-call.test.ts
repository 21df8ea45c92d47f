import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RunState } from '../protocol/words.ts';
import { type DeferredWait, type RunFacts, runAsOf, standingOf } from './deferred-call.ts';

const call = (given: Partial<DeferredWait> = {}): DeferredWait => ({
  mode: 'all',
  createdAt: 10,
  deadlineAt: 20,
  cancelledAt: null,
  ...given,
});
const open: RunFacts = { state: 'running', startedAt: 5, endedAt: null };
const ended = (endedAt: number, state: RunState = 'ok'): RunFacts => ({
  state,
  startedAt: 5,
  endedAt,
});

const CASES: [string, DeferredWait, RunFacts[], number, object][] = [
  ['a run is going', call(), [open], 19, { type: 'working' }],
  ['time is over', call(), [open], 20, { type: 'answered', at: 20 }],
  ['all have ended', call(), [ended(12), ended(14)], 15, { type: 'answered', at: 14 }],
  ['one of all has ended', call(), [ended(12), open], 15, { type: 'working' }],
  [
    'any has ended',
    call({ mode: 'any' }),
    [open, ended(12), ended(14)],
    15,
    { type: 'answered', at: 12 },
  ],
  ['it had ended before the call', call(), [ended(3)], 15, { type: 'answered', at: 10 }],
  ['it ends after the time', call(), [ended(21)], 30, { type: 'answered', at: 20 }],
  [
    'it was cancelled, then ends',
    call({ cancelledAt: 13 }),
    [ended(14)],
    15,
    { type: 'cancelled', at: 13 },
  ],
];
for (const [name, wait, runs, now, standing] of CASES)
  test(`[TK3] how a deferred call stands: ${name}`, () => {
    assert.deepEqual(standingOf(wait, { runs, now }), standing);
  });

test('[TK3] what a deferred call has answered never changes', () => {
  const times = fc.integer({ min: 0, max: 40 });
  const given = fc.record({
    mode: fc.constantFrom('any' as const, 'all' as const),
    ends: fc.array(fc.option(times, { nil: Infinity }), { minLength: 1, maxLength: 4 }),
    // nobody asks before it was made
    now: fc.integer({ min: 10, max: 40 }),
    later: times,
  });
  // as the rows are at a time: a run that ends later is still going
  const rowsAt = (ends: readonly number[], at: number) =>
    ends.map((end) => (end <= at ? ended(end) : open));
  fc.assert(
    fc.property(given, ({ mode, ends, now, later }) => {
      const wait = call({ mode });
      const first = standingOf(wait, { runs: rowsAt(ends, now), now });
      if (first.type !== 'answered') return;
      const at = now + later;
      const second = standingOf(wait, { runs: rowsAt(ends, at), now: at });
      assert.deepEqual(second, first);
      const told = (rows: RunFacts[]) =>
        rows.map((run) => runAsOf(run, first.at)).map(({ state, endedAt }) => [state, endedAt]);
      assert.deepEqual(told(rowsAt(ends, at)), told(rowsAt(ends, now)));
    }),
  );
});

test('[TK3] a run that had not begun by then is queued in the answer', () => {
  const run = { ...ended(30), startedAt: 25, reply: 'late' };
  assert.deepEqual([runAsOf(run, 20).state, runAsOf(run, 26).state], ['queued', 'running']);
  assert.equal(runAsOf(run, 30), run);
});
