/** Proof that a campaign of two gateways would notice: a gateway that is paused writes when it is back, if it may. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Break } from './breaks.ts';
import { type CampaignReport, runCampaign } from './campaign.ts';

/** What a gateway has under way when it is paused is chance: not each campaign can find it. */
const CAMPAIGNS = 3;
const FIRST_SEED = 5;

describe('a campaign on Postgres with a safeguard switched off', { concurrency: 2 }, () => {
  for (const broken of ['no-fence', 'stale-epoch'] as const) {
    it(`[CX2] ${broken} is found`, async () => {
      const seen: CampaignReport['counts'][] = [];
      for (let seed = FIRST_SEED; seed < FIRST_SEED + CAMPAIGNS; seed += 1) {
        const { lost, doubled, counts } = await campaign(broken, seed);
        if (lost + doubled > 0) return;
        seen.push(counts);
      }
      assert.fail(`nothing found; counts: ${JSON.stringify(seen)}`);
    });
  }
});

function campaign(broken: Break, seed: number): Promise<CampaignReport> {
  const options = { store: 'postgres', kills: 0, pauses: 2, seconds: 60 } as const;
  return runCampaign({ ...options, settleMs: 40_000, seed, broken });
}
