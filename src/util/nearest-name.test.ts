import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editDistance, nearestName } from './nearest-name.ts';

const DISTANCES: [string, string, number][] = [
  ['', '', 0],
  ['abc', '', 3],
  ['limit', 'limit', 0],
  ['limt', 'limit', 1],
  ['limti', 'limit', 1],
  ['kitten', 'sitting', 3],
];
for (const [a, b, distance] of DISTANCES) {
  test(`"${a}" and "${b}" are ${distance} edits apart, either way round`, () => {
    assert.equal(editDistance(a, b), distance);
    assert.equal(editDistance(b, a), distance);
  });
}

test('the nearest known name is found whatever its case, and none among none', () => {
  assert.equal(nearestName('SessionKye', ['limit', 'sessionKey', 'search']), 'sessionKey');
  assert.equal(nearestName('timeout', ['mode', 'timeoutSeconds']), 'timeoutSeconds');
  assert.equal(nearestName('timeout', ['mode', 'timeoutSeconds'], { within: 2 }), undefined);
  assert.equal(nearestName('moed', ['mode', 'timeoutSeconds'], { within: 2 }), 'mode');
  assert.equal(nearestName('x', []), undefined);
});
