import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editDistance, nearestName } from './nearest-name.ts';

test('the edit distance counts added, removed and changed letters', () => {
  const cases = [
    ['', '', 0],
    ['abc', '', 3],
    ['timeout', 'timeoutS', 1],
    ['sessionkey', 'sessionKey', 1],
    ['kitten', 'sitting', 3],
  ] as const;
  for (const [a, b, distance] of cases) {
    assert.equal(editDistance(a, b), distance);
    assert.equal(editDistance(b, a), distance);
  }
});

test('the nearest known name is found case aside, within a bound when one is given', () => {
  const known = ['sessionKey', 'message', 'timeoutSeconds'];
  assert.equal(nearestName('SESSIONKEY', known), 'sessionKey');
  assert.equal(nearestName('mesage', known, { within: 2 }), 'message');
  assert.equal(nearestName('msg', known, { within: 2 }), undefined);
  assert.equal(nearestName('anything', []), undefined);
  assert.equal(nearestName('a', ['b', 'c']), 'b');
});
