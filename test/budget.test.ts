/** Budgets over a tree of sessions: what is counted, what happens when one is used up, and who is told (A22). */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import type { UsageAnswer } from '../src/protocol/answers/usage-answers.ts';
import type { RunRow } from '../src/store/run-repository.ts';
import { runCli } from './helpers/captured-io.ts';
import { call, startWorld, type TestWorld, type WorldOptions } from './helpers/test-world.ts';

const A = 'agent:a:main';
type Json = Record<string, unknown>;

const LIST = (budget?: Json, b: Json = {}) => [
  {
    id: 'a',
    default: true,
    subagents: { allowAgents: ['*'] },
    ...(budget === undefined ? {} : { budget }),
  },
  { id: 'b', ...b },
];
const PRICED = [{ id: 'fake-1', cost: { input: 10, output: 10 } }, { id: 'fake-2' }];
/** Each call uses 1000 tokens, 0.01 dollars. */
const USED = { input: 900, output: 100, cacheRead: 0, cacheWrite: 0 };

async function startBudgeted(
  t: TestContext,
  {
    budget,
    agents = {},
    b = {},
    session = {},
    ...options
  }: Omit<WorldOptions, 'agents'> & { budget?: Json; agents?: Json; b?: Json; session?: Json },
): Promise<TestWorld> {
  const world = await startWorld(t, {
    ...options,
    config: {
      agents: { list: LIST(budget, b), ...agents },
      session,
      models: { providers: { fake: { models: PRICED } } },
    },
  });
  world.model.usage = USED;
  return world;
}

const runOf = async (world: TestWorld, runId: unknown): Promise<RunRow> => {
  const run = await world.store.read((tx) => tx.runs.get(String(runId)));
  assert.ok(run);
  return run;
};
const budgetsOf = async (world: TestWorld, sessionKey = A) =>
  (await world.client.request<UsageAnswer>('usage', { sessionKey, tree: true })).budgets;
const LOOK = call('sessions_list', {});
/** part of every prompt of a child */
const OF_CHILDREN = 'You are a sub-agent';

test('[BU1] used up in the middle: one closing turn without tools, whose answer is the partial result', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 2500 } });
  const answer = await world.say(A, `${LOOK}\n${LOOK}\n${LOOK}\n${LOOK}\nSAY: all done`);
  const { requests } = world.model;
  assert.equal(requests.length, 3, 'two calls with tools, and the last one');
  const [, before, last] = requests.map(({ body }) => body);
  assert.ok(Array.isArray(before?.['tools']));
  assert.equal(last?.['tools'], undefined);
  assert.match(JSON.stringify(last?.['messages']), /Your budget is used up \(tokens\)/);
  assert.equal(answer['status'], 'error');
  const run = await runOf(world, answer['runId']);
  assert.equal(run.state, 'error');
  assert.match(run.error ?? '', /the budget of agent:a:main is used up: 2000 of 2500 tokens/);
  assert.match(run.error ?? '', /raise agents\.list\[\]\.budget\.tokens of agent a/);
  assert.notEqual(run.reply, '', 'the partial result');
  const [budget] = (await budgetsOf(world)) ?? [];
  assert.deepEqual([budget?.spent.tokens, budget?.rest.tokens], [3000, 0]);
  assert.deepEqual(budget?.reserved, { tokens: 0, usd: 0 });
});

test('[BU1] a model that calls a tool in its last call is not asked again', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 1500 }, careless: true });
  const { runId } = await world.say(A, `${LOOK}\n${LOOK}\n${LOOK}\nSAY: no`);
  assert.equal(world.model.requests.length, 2);
  assert.equal((await runOf(world, runId)).state, 'error');
});

test('[BU2] a message to a root whose budget is used up ends with the setting to raise; a reset begins anew', async (t) => {
  const world = await startBudgeted(t, { agents: { defaults: { budget: { tokens: 900 } } } });
  await world.say(A, 'SAY: one');
  const { runId, status } = await world.say(A, 'SAY: two');
  assert.equal(status, 'error');
  const run = await runOf(world, runId);
  assert.match(run.error ?? '', /1000 of 900 tokens \(raise agents\.defaults\.budget\.tokens/);
  assert.equal(world.model.requests.length, 1, 'no model was asked');
  const told = await world.client.request('runs.get', { runId });
  assert.match(JSON.stringify(told), /budget of agent:a:main is used up/);
  await world.client.request('sessions.reset', { key: A });
  assert.equal((await world.say(A, 'SAY: three'))['status'], 'ok');
});

test('[BU3] a child may only narrow: a wider budget is refused and names what is left', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 5000, runs: 9 } });
  await world.say(A, 'SAY: one');
  const wide = await world.tool('sessions_spawn', { task: 'SAY: x', budget: { tokens: 4001 } }, A);
  assert.equal(wide['status'], 'error');
  assert.match(
    String(wide['error']),
    /budget\.tokens 4001 is more than .* of agent:a:main, 4000; a child may only narrow it/,
  );
  assert.equal(await world.store.read((tx) => tx.spawns.hasUnsettled(A)), false);
  const fits = await world.tool('sessions_spawn', { task: 'SAY: x', budget: { tokens: 4000 } }, A);
  assert.equal(fits['status'], 'accepted');
  await world.quiet();
});

test('[BU4] a child that uses up its budget is announced as an error with its partial result and the budget', async (t) => {
  const world = await startBudgeted(t, {
    agents: { defaults: { subagents: { announce: { mode: 'template' } } } },
  });
  const task = `${call('read', { path: 'x' })}\n${call('read', { path: 'x' })}\nSAY: whole`;
  const spawned = await world.tool('sessions_spawn', { task, budget: { tokens: 1200 } }, A);
  await world.quiet();
  const run = await runOf(world, spawned['runId']);
  assert.equal(run.state, 'error');
  await world.say(A, 'SAY: and?');
  const note = (await world.history(A)).map(textOf).find((text) => text.includes('Status:'));
  assert.match(note ?? '', /Status: error\nResult: \S+/);
  assert.match(
    note ?? '',
    /Notes: the budget of agent:a:subagent:\S+ is used up: 1000 of 1200 tokens/,
  );
});

test('[BU5] runs are counted over the tree; one that cannot start ends with the budget named and is announced', async (t) => {
  const world = await startBudgeted(t, { budget: { runs: 2 } });
  await world.say(A, 'SAY: one');
  await world.tool('sessions_spawn', { task: 'SAY: two' }, A);
  await world.quiet();
  const third = await world.tool('sessions_spawn', { task: 'SAY: three' }, A);
  await world.quiet();
  const run = await runOf(world, third['runId']);
  assert.match(run.error ?? '', /the budget of agent:a:main is used up: 2 of 2 runs/);
  assert.equal(world.model.requests.length, 2);
  assert.equal(await world.store.read((tx) => tx.spawns.hasUnsettled(A)), false);
});

test('[BU5] a waiting parent gets an answer', async (t) => {
  const world = await startBudgeted(t, { agents: {}, b: { budget: { runs: 1 } } });
  await world.say('agent:b:main', 'SAY: one');
  await world.say(
    A,
    `${call('sessions_send', { sessionKey: 'agent:b:main', message: 'SAY: x', timeoutSeconds: 30 })}\nSAY: ok`,
  );
  const [answer] = await world.toolAnswers(A);
  assert.equal(answer?.['status'], 'error');
  assert.match(String(answer?.['error']), /budget of agent:b:main is used up/);
});

test('[BU6] dollars need prices: at the spawn and at the start of a run', async (t) => {
  const world = await startBudgeted(t, { budget: { usd: 0.025 } });
  const spawned = await world.tool('sessions_spawn', { task: 'x', model: 'fake/fake-2' }, A);
  assert.match(String(spawned['error']), /limits usd, and fake\/fake-2 has no prices/);
  await world.client.request('sessions.patch', { key: A, model: 'fake/fake-2' });
  const { runId } = await world.say(A, 'SAY: x');
  assert.match((await runOf(world, runId)).error ?? '', /fake\/fake-2 has no prices/);
  assert.equal(world.model.requests.length, 0);
  await world.client.request('sessions.patch', { key: A, model: 'fake/fake-1' });
  const used = await world.say(A, `${LOOK}\n${LOOK}\n${LOOK}\nSAY: x`);
  assert.match((await runOf(world, used['runId'])).error ?? '', /\$0\.02 of \$0\.025 usd/);
});

test('[BU7] children that run at once go over the budget by one call each at most', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 6000 } });
  const task = `${call('read', { path: 'x' })}\n`.repeat(20);
  // what a first call will use is not known: all four are counted before anybody's second one is answered
  const [first, second] = [world.model.hold(OF_CHILDREN), world.model.hold('"role":"tool"')];
  for (let child = 0; child < 4; child += 1) await world.tool('sessions_spawn', { task }, A);
  await first.arrived(4);
  first.release();
  await second.arrived(4);
  second.release();
  await world.quiet();
  const [budget] = (await budgetsOf(world)) ?? [];
  assert.ok((budget?.spent.tokens ?? 0) >= 6000 - 4 * 1000);
  assert.ok((budget?.spent.tokens ?? 0) <= 6000 + 4 * 1000, `${budget?.spent.tokens}`);
  assert.deepEqual(budget?.reserved, { tokens: 0, usd: 0 });
});

test('[BU8] seconds are the time that the runs of the tree take in all', async (t) => {
  const world = await startBudgeted(t, { budget: { seconds: 60 }, clock: 'movable' });
  const held = world.model.hold('slow');
  const said = world.say(A, `${LOOK}\n${LOOK}\nSAY: slow`);
  await held.arrived();
  await world.passTime(61_000);
  held.release();
  const { runId } = await said;
  assert.match((await runOf(world, runId)).error ?? '', /61 of 60 seconds/);
  assert.equal(world.model.requests.length, 2);
});

test('[BU9] the command line shows each budget of a session, with what is left', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 5000, usd: 1 } });
  await world.say(A, 'SAY: one');
  const spawned = await world.tool('sessions_spawn', { task: 'SAY: x', budget: { runs: 4 } }, A);
  await world.quiet();
  const key = String(spawned['childSessionKey']);
  const { gateway } = world;
  const at = ['--url', gateway.url, '--token', gateway.token ?? ''];
  const { out } = await runCli(['usage', '--session', key, ...at]);
  assert.deepEqual(out.trimEnd().split('\n').slice(-2), [
    `budget of ${A}: tokens 3000 of 5000 (2000 left), usd 0.03 of 1 (0.97 left)`,
    `budget of ${key}: runs 2 of 4 (2 left)`,
  ]);
});

test('[BU9] without a budget nothing is written and nothing is shown', async (t) => {
  const world = await startBudgeted(t, {});
  const { runId } = await world.say(A, `${LOOK}\nSAY: x`);
  assert.equal(await budgetsOf(world), undefined);
  await world.store.read(async (tx) => {
    assert.equal(await tx.budgets.get(A), undefined);
    assert.deepEqual(await tx.budgets.holdsOf(String(runId)), []);
  });
});

test('[BU2] a root whose key names no agent has the budget of the agent that its row names, with all below it', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 1900 }, session: { scope: 'global' } });
  await world.say('main', 'SAY: one');
  const budget = { tokens: 901 };
  const wide = await world.tool('sessions_spawn', { task: 'SAY: x', budget }, 'main');
  assert.match(String(wide['error']), /more than .* of the budget of global, 900;/);
  await world.tool('sessions_spawn', { task: 'SAY: x', agentId: 'b' }, 'main');
  await world.quiet();
  const { runId, status } = await world.say('main', 'SAY: two');
  assert.equal(status, 'error');
  const { error } = await runOf(world, runId);
  assert.match(error ?? '', /of 1900 tokens \(raise agents\.list\[\]\.budget\.tokens of agent a/);
});
