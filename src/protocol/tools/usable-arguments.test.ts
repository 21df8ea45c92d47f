import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usableArguments, whyUnusable } from './usable-arguments.ts';

function nested(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {};
  for (let level = 1; level < levels; level++) value = { a: value };
  return value;
}

test('[TL11] arguments as deep as a frame may be stay as they are, deeper ones are refused', () => {
  const deepest = nested(64);
  assert.equal(usableArguments(deepest), deepest);
  for (const levels of [65, 5000, 100_000]) {
    assert.match(whyUnusable(usableArguments(nested(levels))) ?? '', /deeper than 64 levels/);
  }
  assert.equal(whyUnusable({ message: 'm' }), undefined);
});
