import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RetryPause } from './retry-pause.ts';

test('[MS8, MS9] each failure is followed by a longer pause, and the death of one that had lived for a while by none', () => {
  const pause = new RetryPause();
  assert.ok(pause.isOver && !pause.hasFailedToStart);
  assert.equal(pause.died(10), 0);
  assert.ok(pause.isOver, 'the first death may be bad luck');
  assert.deepEqual(
    [pause.failedToStart(), pause.failedToStart(), pause.died(10)],
    [2_000, 4_000, 8_000],
  );
  assert.ok(!pause.isOver && pause.hasFailedToStart);
  pause.started();
  assert.equal(pause.hasFailedToStart, false);
  assert.equal(pause.died(3_600_000), 0);
  for (let at = 0; at < 20; at += 1) pause.failedToStart();
  assert.equal(pause.failedToStart(), 60_000);
  pause.ended(10);
  assert.equal(pause.failedToStart(), 60_000);
  pause.ended(3_600_000);
  assert.equal(pause.failedToStart(), 1_000);
});
