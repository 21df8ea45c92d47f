/** A child with its announce, a message through a door, time limits and attempts. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CrashRun, prepareCrashRun } from './crash-run.ts';
import { killsOf } from './crash-table.ts';
import type { ScenarioName } from './scenarios.ts';

const SCENARIOS: ReadonlySet<ScenarioName> = new Set<ScenarioName>([
  'spawn',
  'cleanup',
  'door',
  'timeout',
  'slow',
]);

let crashes: CrashRun;
before(async () => {
  crashes = await prepareCrashRun();
});
after(() => crashes.close());

it('[RC3] a gateway that nobody kills announces a child once: one note, one delivery', async () => {
  const { pending, deliveries, spawns } = await crashes.storyOf('spawn');
  const isAnnounce = (line: string): boolean => line.includes('Result: child done');
  assert.deepEqual(
    [pending.filter(isAnnounce).length, deliveries.filter(isAnnounce).length],
    [1, 1],
  );
  assert.deepEqual(spawns, ['agent:main:main → agent:main:subagent:<id> settled']);
});

describe('a gateway killed while a child, a door or a limit is at work', { concurrency: 3 }, () => {
  for (const { step, when, left } of killsOf(({ scenario }) => SCENARIOS.has(scenario))) {
    it(`[RC2] just ${when} ${step.unit} ${step.nth} (${step.step}) leaves ${left}; all ends as if nobody had`, (t) =>
      crashes.killAndGoOn(t, step, when));
  }
});
