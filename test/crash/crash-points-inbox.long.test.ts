/** What waits for clients that nobody plays: handed over, answered, and ended when their time is over. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { withoutTokens } from '../helpers/crash-story.ts';
import { type CrashRun, prepareCrashRun } from './crash-run.ts';
import { killsOf } from './crash-table.ts';
import type { ScenarioName } from './scenarios.ts';

const CLIENT = 'agent:main:mcp:client';
const SCENARIOS: ReadonlySet<ScenarioName> = new Set<ScenarioName>([
  'inbox',
  'inbox-timeout',
  'calls',
]);

let crashes: CrashRun;
before(async () => {
  crashes = await prepareCrashRun();
});
after(() => crashes.close());

it('[IB11] undisturbed, each message of a client has one outcome, and stands once', async () => {
  const { runs, pending, transcripts } = withoutTokens(await crashes.storyOf('inbox'));
  assert.deepEqual(pending, []);
  assert.equal(runs.filter((run) => run.startsWith(`${CLIENT} message ok`)).length, 2);
  assert.equal(transcripts[CLIENT]?.length, 5);
});

it('[TK16] undisturbed, each call has one row, and stays as it ended', async () => {
  const { calls } = await crashes.storyOf('calls');
  assert.deepEqual(calls, [
    'agent:scout:main sessions_send for 1 all',
    'agent:scout:main sessions_send for 1 all, cancelled',
  ]);
});

describe('a gateway killed while a client has messages', { concurrency: 3 }, () => {
  for (const { step, when, left } of killsOf(({ scenario }) => SCENARIOS.has(scenario))) {
    it(`[IB11, TK16, RC2] just ${when} ${step.unit} ${step.nth} (${step.step}) leaves ${left}; all ends as if nobody had`, (t) =>
      crashes.killAndGoOn(t, step, when));
  }
});
