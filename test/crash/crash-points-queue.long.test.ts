/** Messages into a busy session: collected, steered, interrupting, and more than may wait. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { withoutTokens } from '../helpers/crash-story.ts';
import { type CrashRun, prepareCrashRun } from './crash-run.ts';
import { killsOf } from './crash-table.ts';
import type { ScenarioName } from './scenarios.ts';

const MAIN = 'agent:main:main';
const SCENARIOS: ReadonlySet<ScenarioName> = new Set<ScenarioName>([
  'collect',
  'steer',
  'interrupt',
  'overflow',
]);

let crashes: CrashRun;
before(async () => {
  crashes = await prepareCrashRun();
});
after(() => crashes.close());

const told: [ScenarioName, string[]][] = [
  [
    'collect',
    [
      `${MAIN} message in the turn of another ok "two"`,
      `${MAIN} message ok "two"`,
      `${MAIN} message ok "zero"`,
    ],
  ],
  [
    'steer',
    [`${MAIN} message in the turn of another ok "steered"`, `${MAIN} message ok "steered"`],
  ],
  ['interrupt', [`${MAIN} message aborted ""`, `${MAIN} message ok "instead"`]],
  [
    'overflow',
    [`${MAIN} message error ""`, `${MAIN} message ok "two"`, `${MAIN} message ok "zero"`],
  ],
];
for (const [scenario, expected] of told) {
  it(`[QU16] ${scenario}, undisturbed: each message has one outcome`, async () => {
    const { runs, pending } = withoutTokens(await crashes.storyOf(scenario));
    const outcomes = runs.filter((run) => run.startsWith(`${MAIN} message`));
    assert.deepEqual(
      outcomes.map((run) => run.replace(/ \(.*|, .*/, '')),
      expected,
    );
    assert.deepEqual(pending, []);
  });
}

describe('a gateway killed while messages wait for a busy session', { concurrency: 3 }, () => {
  for (const { step, when, left } of killsOf(({ scenario }) => SCENARIOS.has(scenario))) {
    it(`[QU16] just ${when} ${step.unit} ${step.nth} (${step.step}) leaves ${left}; all ends as if nobody had`, (t) =>
      crashes.killAndGoOn(t, step, when));
  }
});
