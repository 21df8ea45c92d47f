import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson } from './parse-json.ts';

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('[GW19] nesting is bounded, brackets in strings do not count', () => {
  assert.deepEqual(parseJson(nested(3), 3), [[[]]]);
  assert.throws(() => parseJson(nested(4), 3), /nested deeper than 3/);
  assert.throws(() => parseJson('{"a":'.repeat(100_000), 64), /nested deeper/);
  const text = JSON.stringify({ a: '[[[[[\\"[[[[' });
  assert.deepEqual(parseJson(text, 1), { a: '[[[[[\\"[[[[' });
});

test('[GW19] what is not JSON is invalid_request', () => {
  for (const text of ['', '{', 'nope', '"open', '{"a":1}}', '"\\'])
    assert.throws(() => parseJson(text, 64), /not valid JSON/, text);
});

test('every JSON value within the bound is read as it was written', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
      assert.deepEqual(parseJson(JSON.stringify(value), 64), JSON.parse(JSON.stringify(value)));
    }),
    { numRuns: 200 },
  );
});
