import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots } from './slots.ts';

test('[RU1] a class never has more runs than its cap, and classes do not share', () => {
  const slots = createSlots((runClass) => (runClass === 'main' ? 2 : 1));
  assert.deepEqual(
    [1, 2, 3].map(() => slots.tryTake('main')),
    [true, true, false],
  );
  assert.equal(slots.tryTake('subagent'), true);
  slots.give('main');
  assert.equal(slots.tryTake('main'), true);
});

test('[RU2] a run that goes on after its wait takes the next slot before a new run does', async () => {
  const slots = createSlots(() => 1);
  assert.equal(slots.tryTake('main'), true);
  slots.give('main');
  assert.equal(slots.tryTake('main'), true, 'another run took the slot during the wait');
  const resumed = slots.retake('main', new AbortController().signal);
  slots.give('main');
  assert.equal(slots.tryTake('main'), false, 'the free slot is promised');
  await resumed;
  slots.give('main');
  assert.equal(slots.tryTake('main'), true);
});

test('[SO11] a stopped run does not wait for a slot to end, and its slot is counted once', async () => {
  const slots = createSlots(() => 1);
  assert.equal(slots.tryTake('main'), true);
  const stop = new AbortController();
  const resumed = slots.retake('main', stop.signal);
  stop.abort();
  await resumed;
  slots.give('main');
  assert.equal(slots.tryTake('main'), false, 'the other run still has its slot');
  slots.give('main');
  assert.equal(slots.tryTake('main'), true);
});
