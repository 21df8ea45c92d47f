import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addToSummary } from './dropped-summary.ts';

const summaryOf = (messages: readonly string[]): string => {
  const whole = messages.reduce<string | undefined>(addToSummary, undefined);
  assert.ok(whole !== undefined);
  return whole;
};

test('[QU11] a summary counts what was dropped and lists how each message began', () => {
  assert.equal(
    summaryOf(['one']),
    '[1 earlier message had no turn: too many waited (messages.queue.cap)]\n- one',
  );
  assert.equal(
    summaryOf(['one', ' two\n\n  lines ', '[9 earlier messages x']),
    '[3 earlier messages had no turn: too many waited (messages.queue.cap)]\n- one\n- two lines\n- [9 earlier messages x',
  );
});

test('a long message is cut between characters, and a long list keeps the newest', () => {
  const [, line = ''] = summaryOf(['😀'.repeat(300)]).split('\n');
  assert.equal(line, `- ${'😀'.repeat(200)}…`);
  const [first, ...lines] = summaryOf(Array.from({ length: 73 }, (_, at) => `m${at}`)).split('\n');
  assert.equal(
    first,
    '[73 earlier messages had no turn: too many waited (messages.queue.cap); the last 50 of them]',
  );
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [50, '- m23', '- m72']);
});
