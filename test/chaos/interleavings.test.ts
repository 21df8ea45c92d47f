/** Agents that send to each other with waits, in one gateway on the scripted runtime. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { makeStateDir } from '../helpers/gateway-process.ts';
import { databaseOf, openGateway } from '../helpers/open-gateway.ts';
import { INTERLEAVING_CONFIG, playInterleavings } from './interleavings.ts';

it('[CX3] however two and three agents send to each other with waits, none hangs, and each refused wait names a real cycle', async (t) => {
  const stateDir = makeStateDir(t, { config: INTERLEAVING_CONFIG });
  const { client } = await openGateway(t, stateDir);
  const report = await playInterleavings({
    client,
    database: databaseOf(stateDir),
    seed: 5,
    count: 40,
    atOnce: 10,
  });
  assert.deepEqual(report.problems, []);
  assert.ok(report.sends > 40, 'agents did send');
  assert.ok((report.cycles[2] ?? 0) > 0, 'two agents wanted to wait for each other');
  assert.ok((report.cycles[3] ?? 0) > 0, 'three agents wanted to wait in a ring');
});
