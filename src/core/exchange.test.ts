import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  afterPrimary,
  afterTurn,
  type ExchangeStep,
  nextSpeaker,
  type TurnResult,
} from './exchange.ts';

const said = (reply: string): TurnResult => ({ outcome: 'ok', reply, isReplySkip: false });
const skip: TurnResult = { outcome: 'ok', reply: '', isReplySkip: true };
const failed: TurnResult = { outcome: 'error', reply: '', isReplySkip: false };

test('[EX1] a failed or silent primary run ends the exchange without a turn or an announce', () => {
  const exchange = { maxTurns: 5, turns: 0 };
  assert.deepEqual(afterPrimary(exchange, failed), { next: 'done', endReason: 'error' });
  assert.deepEqual(afterPrimary(exchange, { ...failed, outcome: 'timeout' }), {
    next: 'done',
    endReason: 'error',
  });
  assert.deepEqual(afterPrimary(exchange, said('')), { next: 'done', endReason: 'empty' });
});

test('[EX2] no reply-back turn follows when the limit is 0, but the announce does', () => {
  assert.deepEqual(afterPrimary({ maxTurns: 0, turns: 0 }, said('hi')), {
    next: 'announce',
    endReason: 'max_turns',
  });
});

test('[EX3] the requester speaks first and the two sides alternate', () => {
  assert.deepEqual([0, 1, 2, 3, 4].map(nextSpeaker), [
    'requester',
    'target',
    'requester',
    'target',
    'requester',
  ]);
});

test('[EX4] a turn ends the loop by skip, silence, failure or the limit, in this order of reading', () => {
  const last = { maxTurns: 2, turns: 2 };
  assert.deepEqual(afterTurn(last, skip), { next: 'announce', endReason: 'reply_skip' });
  assert.deepEqual(afterTurn(last, said('')), { next: 'announce', endReason: 'empty' });
  assert.deepEqual(afterTurn(last, failed), { next: 'announce', endReason: 'error' });
  assert.deepEqual(afterTurn(last, said('x')), { next: 'announce', endReason: 'max_turns' });
  assert.deepEqual(afterTurn({ maxTurns: 2, turns: 1 }, said('x')), {
    next: 'turn',
    speaker: 'target',
  });
});

test('[EX5] whatever the agents answer, an exchange ends after at most maxTurns turns', () => {
  const result = fc.record({
    outcome: fc.constantFrom(
      'ok' as const,
      'error' as const,
      'timeout' as const,
      'aborted' as const,
    ),
    reply: fc.constantFrom('', 'text'),
    isReplySkip: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5 }), fc.array(result, { minLength: 7 }), (max, all) => {
      const exchange = { maxTurns: max, turns: 0 };
      let step: ExchangeStep = afterPrimary(exchange, all[0]!);
      for (const turn of all.slice(1)) {
        if (step.next !== 'turn') break;
        exchange.turns += 1;
        step = afterTurn(exchange, turn);
      }
      assert.notEqual(step.next, 'turn');
      assert.ok(exchange.turns <= max);
    }),
  );
});
