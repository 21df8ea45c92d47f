/** Waits, stops, settings, notes of the operator, and what resets, closes and purges a session. */
import { after, before, describe, it } from 'node:test';
import { type CrashRun, prepareCrashRun } from './crash-run.ts';
import { killsOf } from './crash-table.ts';
import type { ScenarioName } from './scenarios.ts';

const SCENARIOS: ReadonlySet<ScenarioName> = new Set<ScenarioName>([
  'wait',
  'stop',
  'patch',
  'inject',
  'leftNote',
  'reset',
  'delete',
  'prune',
]);

let crashes: CrashRun;
before(async () => {
  crashes = await prepareCrashRun();
});
after(() => crashes.close());

describe(
  'a gateway killed while a wait, a stop or the end of a session is at work',
  { concurrency: 3 },
  () => {
    for (const { step, when, left } of killsOf(({ scenario }) => SCENARIOS.has(scenario))) {
      it(`[RC2] just ${when} ${step.unit} ${step.nth} (${step.step}) leaves ${left}; all ends as if nobody had`, (t) =>
        crashes.killAndGoOn(t, step, when));
    }
  },
);
