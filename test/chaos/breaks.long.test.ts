/** Proof that the verdict of a campaign would notice: with a safeguard switched off it does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCampaign } from './campaign.ts';

/** what each of them must show as */
const FOUND = [
  { broken: 'ack-before-commit', kind: 'lost', seed: 30, kills: 2, jobs: 20 },
  { broken: 'drop-followup', kind: 'open', seed: 31, kills: 1, jobs: 20 },
  { broken: 'double-send', kind: 'doubled', seed: 48, kills: 1, jobs: 40 },
] as const;

describe('a campaign with a safeguard switched off', { concurrency: 3 }, () => {
  for (const { broken, kind, ...options } of FOUND) {
    it(`[CX2] ${broken} is found as ${kind}`, async () => {
      const report = await runCampaign({ ...options, seconds: 10, broken });
      assert.ok(report[kind] > 0, `nothing found; counts: ${JSON.stringify(report.counts)}`);
    });
  }
});
