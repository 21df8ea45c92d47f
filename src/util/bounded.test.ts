import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeUpTo } from './bounded.ts';

test('a number from outside becomes a whole one within the range', () => {
  const cases: [number, number][] = [
    [0, 0],
    [-5, 0],
    [Number.NaN, 0],
    [0.2, 1],
    [1.5, 2],
    [7, 7],
    [9_100_000_000_000_000, 1000],
    [1e300, 1000],
    [Number.POSITIVE_INFINITY, 1000],
  ];
  for (const [value, expected] of cases)
    assert.equal(wholeUpTo(value, 1000), expected, String(value));
});
