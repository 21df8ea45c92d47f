import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultConfig } from '../protocol/options/config.ts';
import { durationMs, planMaintenance } from './maintenance.ts';

const DAY = 86_400_000;
const NOW = 1000 * DAY;

const DURATIONS: [given: string | number, ms: number][] = [
  ['30d', 30 * DAY],
  ['12h', DAY / 2],
  [' 90 m ', 5_400_000],
  ['45s', 45_000],
  ['500ms', 500],
  ['1.5w', 10.5 * DAY],
  ['7', 7 * DAY],
  [7, 7 * DAY],
  [0, 0],
];

for (const [given, ms] of DURATIONS) {
  test(`[AR12] the duration ${JSON.stringify(given)} is ${ms} ms`, () => {
    assert.equal(durationMs(given), ms);
  });
}

type Maintenance = NonNullable<Parameters<typeof defaultConfig>[0]>['session'];
const plan = (maintenance: NonNullable<Maintenance>['maintenance'] = {}) =>
  planMaintenance(defaultConfig({ session: { maintenance } }).session.maintenance, NOW);

test('[AR14] by default only what was deleted goes, after 30 days', () => {
  assert.deepEqual(plan(), {
    enforces: false,
    deletedUntil: NOW - 30 * DAY,
    archivedUntil: NOW - 30 * DAY,
    endedUntil: NOW - 30 * DAY,
  });
});

test('[AR14] transcripts from before a reset have an age of their own, or none', () => {
  assert.equal(plan({ resetArchiveRetention: '2d' }).endedUntil, NOW - 2 * DAY);
  assert.equal(plan({ resetArchiveRetention: true, pruneAfter: '5d' }).endedUntil, NOW - 5 * DAY);
  assert.equal(plan({ resetArchiveRetention: false }).endedUntil, undefined);
});

test('[AR12] a duration that is none is refused', () => {
  for (const pruneAfter of ['soon', '30 days', '', '-1d']) {
    assert.throws(() => plan({ pruneAfter }), /duration|Invalid/i);
  }
});
