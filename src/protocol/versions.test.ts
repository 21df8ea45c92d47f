import assert from 'node:assert/strict';
import { test } from 'node:test';
import { negotiateProtocol } from './versions.ts';

const cases: [number, number, number | undefined][] = [
  [3, 3, 3],
  [4, 4, 4],
  [3, 4, 4],
  [1, 9, 4],
  [1, 3, 3],
  [1, 2, undefined],
  [5, 9, undefined],
  [4, 3, undefined],
];
for (const [minProtocol, maxProtocol, version] of cases)
  test(`[GW3] a client of ${minProtocol} to ${maxProtocol} speaks ${version ?? 'no common version'}`, () =>
    assert.equal(negotiateProtocol({ minProtocol, maxProtocol }), version));
