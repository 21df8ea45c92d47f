/** One budget, two gateways on one database (A22). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPostgres } from '../src/store/postgres/postgres-server.suite.ts';
import { CRASH_CONFIG } from './helpers/gateway-process.ts';
import { makePostgresWorld } from './helpers/postgres-world.ts';

const server = await startPostgres();
after(() => server.stop());

const MAIN = 'agent:main:main';
const AGENTS = { ...CRASH_CONFIG.agents, defaults: { budget: { tokens: 12_000 } } };
const CHILDREN = 4;

test('[BU7] children of one tree that run on two gateways, one of which is killed, share one budget', async (t) => {
  const world = await makePostgresWorld(t, server, { agents: AGENTS });
  world.model.usage = { input: 900, output: 100, cacheRead: 0, cacheWrite: 0 };
  const [one, two] = [await world.start(), await world.start()];
  const held = world.model.hold('[task from');
  const task = 'TOOL: read {"path":"x"}\n'.repeat(20);
  for (let child = 0; child < CHILDREN; child += 1) {
    const { client } = child % 2 === 0 ? one : two;
    const params = { tool: 'sessions_spawn', args: { task }, sessionKey: MAIN };
    const { result } = await client.request<{ result: { status: string } }>('tools.invoke', params);
    assert.equal(result.status, 'accepted');
  }
  await held.arrived(CHILDREN);
  await one.process.kill();
  held.release();
  await world.settled();
  const [sums] = await world.query('select * from budgets');
  const spent = Number(sums?.['spent_tokens']);
  // a last call each; and those that the dead gateway had begun, all of them perhaps, start again, with nothing
  // known of what they need
  const most = 12_000 + CHILDREN * 1000 + CHILDREN * 1000;
  assert.ok(spent >= 12_000 - CHILDREN * 1000 && spent <= most, `${spent}`);
  const [booked] = await world.query(
    'select sum(input_tokens + output_tokens) as tokens, sum(unknown_calls) as lost from usage_days',
  );
  // nothing that two gateways counted at once is forgotten: each answer is there, and what lost calls held
  const ofLost = spent - Number(booked?.['tokens']);
  assert.ok(
    ofLost >= 0 && ofLost <= Number(booked?.['lost']) * 1000,
    `${ofLost} of ${String(booked?.['lost'])}`,
  );
  assert.ok(world.model.requests.length * 1000 <= most, `${world.model.requests.length} calls`);
  assert.deepEqual([sums?.['reserved_tokens'], sums?.['going']].map(Number), [0, 0]);
  assert.equal(sums?.['counted_to'], null);
  assert.deepEqual(await world.query('select * from budget_holds'), []);
  const states = await world.query("select distinct state from runs where purpose = 'task'");
  assert.deepEqual(
    states.map(({ state }) => state),
    ['error'],
  );
});
