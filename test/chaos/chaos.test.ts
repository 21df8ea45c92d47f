/** A short campaign. The long one is `npm run chaos`. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runCampaign } from './campaign.ts';

it('[CX1] a gateway killed at random moments, with everything in flight, has lost and doubled nothing in the end, and each accepted item has its outcome', async () => {
  const report = await runCampaign({ kills: 6, seed: 20, seconds: 20, jobs: 60 });
  assert.deepEqual(report.problems, []);
  assert.ok(report.kills > 0 && report.accepted > 60, 'there was work to lose');
});
