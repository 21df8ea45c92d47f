/** A short campaign of two gateways on one database. The long one is `npm run chaos -- --store postgres`. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runCampaign } from './campaign.ts';

it('[CX4] two gateways on one Postgres database, killed at random moments and one of them paused beyond its lease, have lost and doubled nothing in the end', async () => {
  const seconds = 120;
  const report = await runCampaign({
    store: 'postgres',
    kills: 4,
    pauses: 1,
    seed: 20,
    seconds,
    jobs: 60,
  });
  assert.deepEqual(report.problems, []);
  assert.ok(report.kills > 0 && report.accepted > 60, 'there was work to lose');
  // a machine so busy that the time for it was over first is no fault of the gateways
  assert.ok(report.pauses === 1 || report.ms > seconds * 1000, 'one of them was paused');
});
