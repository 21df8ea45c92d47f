/** A message, a tool with an effect and a message between agents, until the turn is over. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { withoutTokens } from '../helpers/crash-story.ts';
import { type CrashRun, prepareCrashRun } from './crash-run.ts';
import { ENDING_UNITS, killsOf } from './crash-table.ts';

let crashes: CrashRun;
before(async () => {
  crashes = await prepareCrashRun();
});
after(() => crashes.close());

it('[RC1] a gateway that nobody kills has one outcome, one message and one reply for each accepted message', async () => {
  const { runs, transcripts, deliveries } = withoutTokens(await crashes.storyOf('send'));
  assert.deepEqual(
    runs.map((run) => run.replace(/, .*/, '')),
    [
      'agent:main:main exchange_turn ok ""',
      'agent:main:main message ok "all done"',
      'agent:scout:main exchange_announce ok ""',
      'agent:scout:main message ok "here"',
      'agent:scout:main message ok "pong"',
    ],
  );
  assert.equal(transcripts['agent:main:main']?.length, 7);
  assert.equal(deliveries.length, 2);
});

describe('a gateway killed while a message is on its way', { concurrency: 3 }, () => {
  for (const { step, when, left } of killsOf(
    ({ scenario, unit }) => scenario === 'send' && !ENDING_UNITS.has(unit),
  )) {
    it(`[RC2] just ${when} ${step.unit} ${step.nth} (${step.step}) leaves ${left}; all ends as if nobody had`, (t) =>
      crashes.killAndGoOn(t, step, when));
  }
});
