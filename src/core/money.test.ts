import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { costNanosOf, nanosOfUsd, usdOfNanos } from './money.ts';

const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const NONE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

test('[US1] each kind of token costs its own price per million', () => {
  const tokens = { input: 1000, output: 200, cacheRead: 10_000, cacheWrite: 500 };
  // 3 mills and 3 mills and 3 mills and 1.875 mills
  assert.equal(usdOfNanos(costNanosOf(PRICES, tokens)), 0.010_875);
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
    const million = { ...NONE, [kind]: 1_000_000 };
    assert.equal(usdOfNanos(costNanosOf(PRICES, million)), PRICES[kind], kind);
  }
});

test('[US1] a price of less than a nano-dollar a token is not lost', () => {
  const cheap = { ...NONE, cacheRead: 0.0375 };
  assert.equal(costNanosOf(cheap, { ...NONE, cacheRead: 1 }), 38, 'rounded once, at the end');
  assert.equal(costNanosOf(cheap, { ...NONE, cacheRead: 1_000_000 }), 37_500_000);
});

test('[US2] a hundred thousand calls add up to the cent, in whatever order', () => {
  const prices = { ...NONE, input: 0.1, output: 0.7 };
  const call = costNanosOf(prices, { ...NONE, input: 333, output: 77 });
  let sum = 0;
  let usd = 0;
  for (let count = 0; count < 100_000; count += 1) {
    sum += call;
    usd = usdOfNanos(nanosOfUsd(usd) + call);
  }
  assert.equal(usdOfNanos(sum), 8.72);
  assert.equal(usd, 8.72, 'kept in a row as dollars');
});

test('[US2] dollars of a row are the nano-dollars they were made from', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 51 }), (nanos) => {
      assert.equal(nanosOfUsd(usdOfNanos(nanos)), nanos);
    }),
  );
});

test('[US3] whatever a model claims and a price says, a cost is a whole number within bounds', () => {
  const token = fc.integer({ min: 0, max: 1_000_000_000 });
  const price = fc.oneof(fc.double({ min: 0, noNaN: true }), fc.constant(Number.MAX_VALUE));
  const four = <T>(of: fc.Arbitrary<T>) =>
    fc.record({ input: of, output: of, cacheRead: of, cacheWrite: of });
  fc.assert(
    fc.property(four(price), four(token), (prices, tokens) => {
      const cost = costNanosOf(prices, tokens);
      assert.ok(Number.isSafeInteger(cost) && cost >= 0 && cost <= 10_000_000_000_000);
    }),
  );
});
