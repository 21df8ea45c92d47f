/** An owner's command: the setting, its outcome and its confirmation are one step. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CrashRun, prepareCrashRun } from './crash-run.ts';
import { killsOf } from './crash-table.ts';

const MAIN = 'agent:main:main';

let crashes: CrashRun;
before(async () => {
  crashes = await prepareCrashRun();
});
after(() => crashes.close());

it('[CM6] undisturbed, a command changes its setting, has one outcome, and is confirmed once', async () => {
  const { sessions, runs, transcripts, deliveries } = await crashes.storyOf('command');
  assert.match(sessions.find((line) => line.startsWith(MAIN)) ?? '', /sends deny/);
  const commands = runs.filter((line) => line.startsWith(`${MAIN} command`));
  assert.equal(commands.length, 1);
  assert.match(commands[0] ?? '', /ok "Sending is off/);
  assert.deepEqual(transcripts[MAIN] ?? [], []);
  assert.equal(deliveries.filter((line) => line.includes('Sending is off')).length, 1);
});

describe('a gateway killed at an owner’s command', { concurrency: 2 }, () => {
  for (const { step, when, left } of killsOf(({ scenario }) => scenario === 'command')) {
    it(`[CM6] just ${when} ${step.unit} ${step.nth} (${step.step}) leaves ${left}; all ends as if nobody had`, (t) =>
      crashes.killAndGoOn(t, step, when));
  }
});
