/** Proof that a campaign of two gateways would notice: a gateway that is paused writes when it is back, if it may. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCampaign } from './campaign.ts';

describe('a campaign on Postgres with a safeguard switched off', { concurrency: 2 }, () => {
  for (const broken of ['no-fence', 'stale-epoch'] as const) {
    it(`[CX2] ${broken} is found`, async () => {
      const options = { store: 'postgres', kills: 0, pauses: 2, seed: 5, seconds: 60 } as const;
      const report = await runCampaign({ ...options, settleMs: 40_000, broken });
      assert.ok(
        report.lost + report.doubled > 0,
        `nothing found; counts: ${JSON.stringify(report.counts)}`,
      );
    });
  }
});
