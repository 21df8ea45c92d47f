/** Results that a requester passes on in a turn of its own, and children of children. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { withoutTokens } from '../helpers/crash-story.ts';
import { type CrashRun, prepareCrashRun } from './crash-run.ts';
import { killsOf } from './crash-table.ts';
import type { ScenarioName } from './scenarios.ts';

const MAIN = 'agent:main:main';
const SCENARIOS: ReadonlySet<ScenarioName> = new Set<ScenarioName>(['relay', 'nested']);

let crashes: CrashRun;
before(async () => {
  crashes = await prepareCrashRun();
});
after(() => crashes.close());

/** What main was told, in its chat and in its transcript. */
async function toldBy(scenario: ScenarioName): Promise<{ chat: string[]; pending: number }> {
  const { deliveries, pending } = withoutTokens(await crashes.storyOf(scenario));
  return {
    chat: deliveries.flatMap((line) => {
      const [where, text] = line.split(/: (.*)/s);
      return where?.includes(MAIN) === true && text !== 'spawned'
        ? [text!.split('\n\nStats')[0]!]
        : [];
    }),
    pending: pending.length,
  };
}

it('[AN20] undisturbed, the result of a child is passed on once', async () => {
  assert.deepEqual(await toldBy('relay'), { chat: ['PASSED ON: child done'], pending: 0 });
});

it('[AN20] undisturbed, a parent is announced once, with what it made of its child', async () => {
  const chat = ['Status: success\nResult: PASSED ON: child done'];
  assert.deepEqual(await toldBy('nested'), { chat, pending: 1 });
});

describe('a gateway killed while results are passed on', { concurrency: 3 }, () => {
  for (const { step, when, left } of killsOf(({ scenario }) => SCENARIOS.has(scenario))) {
    it(`[RC2] just ${when} ${step.unit} ${step.nth} (${step.step}) leaves ${left}; all ends as if nobody had`, (t) =>
      crashes.killAndGoOn(t, step, when));
  }
});
