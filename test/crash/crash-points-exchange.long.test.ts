/** The ends of runs, and what follows from them: the exchange of two agents, and the deliveries. */
import { after, before, describe, it } from 'node:test';
import { type CrashRun, prepareCrashRun } from './crash-run.ts';
import { ENDING_UNITS, killsOf } from './crash-table.ts';

let crashes: CrashRun;
before(async () => {
  crashes = await prepareCrashRun();
});
after(() => crashes.close());

describe('a gateway killed at the end of a run and in what follows', { concurrency: 3 }, () => {
  for (const { step, when, left } of killsOf(
    ({ scenario, unit }) => scenario === 'send' && ENDING_UNITS.has(unit),
  )) {
    it(`[RC2] just ${when} ${step.unit} ${step.nth} (${step.step}) leaves ${left}; all ends as if nobody had`, (t) =>
      crashes.killAndGoOn(t, step, when));
  }
});
