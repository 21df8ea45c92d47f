/** Budgets where several runs, trees and changes meet: who pays, who goes on, and that nothing stays reserved (A22). */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { UsageAnswer } from '../src/protocol/answers/usage-answers.ts';
import type { RunRow } from '../src/store/run-repository.ts';
import { call, startWorld, type TestWorld, type WorldOptions } from './helpers/test-world.ts';

const A = 'agent:a:main';
const B = 'agent:b:main';
type Json = Record<string, unknown>;

/** Each call uses 1000 tokens; of these come from the cache as many as this says. */
const useOf = (cached = 0) => ({
  input: 900 - cached,
  output: 100,
  cacheRead: cached,
  cacheWrite: 0,
});
const LOOK = call('sessions_list', {});
const READ = call('read', { path: 'x' });

const agentsOf = (budget?: Json, ofB?: Json) => ({
  list: [
    {
      id: 'a',
      default: true,
      subagents: { allowAgents: ['*'], maxChildrenPerAgent: 20 },
      ...(budget && { budget }),
    },
    { id: 'b', ...(ofB && { budget: ofB }) },
  ],
});

async function startBudgeted(
  t: TestContext,
  {
    budget,
    ofB,
    tools = {},
    ...options
  }: Omit<WorldOptions, 'agents'> & { budget?: Json; ofB?: Json; tools?: Json } = {},
): Promise<TestWorld> {
  const agents = agentsOf(budget, ofB);
  const world = await startWorld(t, { ...options, config: { agents, tools } });
  world.model.usage = useOf();
  return world;
}

const runOf = async (world: TestWorld, runId: unknown): Promise<RunRow> => {
  const run = await world.store.read((tx) => tx.runs.get(String(runId)));
  assert.ok(run);
  return run;
};
const rowOf = (world: TestWorld, key = A) => world.store.read((tx) => tx.budgets.get(key));
/** What is spent of a budget under which nothing goes on. */
async function spentOf(world: TestWorld, key = A) {
  const row = await rowOf(world, key);
  assert.ok(row, `budget of ${key}`);
  assert.deepEqual(
    [row.reservedTokens, row.reservedNanos, row.going, row.countedTo],
    [0, 0, 0, null],
  );
  return { tokens: row.spentTokens, runs: row.spentRuns, seconds: row.spentMs / 1000 };
}
/** Gives the agents other budgets while the gateway runs. */
async function setBudgets(world: TestWorld, budget?: Json): Promise<void> {
  const file = join(world.gateway.stateDir, 'trunkline.json');
  const written = JSON.parse(readFileSync(file, 'utf8')) as Json;
  writeFileSync(file, JSON.stringify({ ...written, agents: agentsOf(budget) }));
  await world.client.request('config.reload');
}
const spawn = (world: TestWorld, task: string, more: Json = {}) =>
  world.tool('sessions_spawn', { task, ...more }, A);

test('[BU5] siblings share: who is in a call has its answer and one more, who waits does not begin, the parent hears of all', async (t) => {
  // one first call takes so much of it that whoever is told next has its last call, in whatever order they are told
  const world = await startBudgeted(t, { budget: { tokens: 1500, runs: 3 } });
  const held = world.model.hold('READ ME');
  const task = `READ ME\n${READ}\n${READ}\n${READ}\nSAY: whole`;
  const first = await spawn(world, task);
  const second = await spawn(world, task);
  await held.arrived(2);
  held.release();
  await world.quiet();
  const late = await spawn(world, task);
  await world.quiet();
  const runs = await Promise.all([first, second, late].map(({ runId }) => runOf(world, runId)));
  assert.deepEqual(
    runs.map(({ state }) => state),
    ['error', 'error', 'error'],
  );
  for (const { error } of runs) assert.match(error ?? '', /budget of agent:a:main is used up/);
  const asked = world.model.requests.filter(({ raw }) => raw.includes('READ ME'));
  assert.equal(asked.length, 4, 'two calls each of the first two, none of the third');
  assert.equal((await spentOf(world)).tokens, 4000);
  assert.equal(await world.store.read((tx) => tx.spawns.hasUnsettled(A)), false);
});

test('[BU5] a parent that waits has nothing reserved, so that its child has all the rest; then it closes', async (t) => {
  const world = await startBudgeted(t, {
    budget: { tokens: 4000 },
    // the script of the parent names the run that it has started
    rewrite: (text, raw) => {
      const runId = /runId[^0-9a-f]+([0-9a-f-]{36})/.exec(raw)?.[1];
      const wait = { runIds: [runId], timeoutSeconds: 30 };
      return text.includes('WAIT') && runId !== undefined
        ? text.replace('WAIT', call('sessions_wait', wait))
        : text;
    },
    tools: { allow: ['*', 'sessions_wait'] },
  });
  const child = call('sessions_spawn', { task: `${READ}\nSAY: done` });
  const { runId } = await world.say(A, `${child}\nWAIT\nSAY: x`);
  const answers = await world.toolAnswers(A);
  assert.equal(answers.at(-1)?.['status'], 'ok', 'the child had its second call');
  assert.match((await runOf(world, runId)).error ?? '', /4000 of 4000 tokens/);
  await world.quiet();
  assert.equal((await spentOf(world)).tokens, 5000);
});

test('[BU11] each root pays for its own runs: a send spends of the target, and an error there is an answer here', async (t) => {
  const world = await startBudgeted(t, { budget: { runs: 1 }, ofB: { tokens: 1500 } });
  const send = (message: string) =>
    call('sessions_send', { sessionKey: B, message, timeoutSeconds: 30 });
  await world.say(
    A,
    `${send('SAY: one')}\n${send(`${LOOK}\n${LOOK}\nSAY: x`)}\n${send('SAY: y')}\nSAY: end`,
  );
  await world.quiet();
  const [one, two, three] = await world.toolAnswers(A);
  assert.equal(one?.['status'], 'ok');
  assert.match(
    String(two?.['error']),
    /budget of agent:b:main is used up: 1000 of 1500|2000 of 1500/,
  );
  assert.match(String(three?.['error']), /budget of agent:b:main is used up/);
  assert.deepEqual((await spentOf(world)).runs, 1, 'what b did is not of a');
  assert.ok((await spentOf(world, B)).tokens >= 2000);
});

test('[BU7] tokens of the cache count, a call that failed unbilled does not, and one that was billed and made again counts twice', async (t) => {
  const provider = { api: 'anthropic-messages', path: '' };
  const world = await startBudgeted(t, { budget: { tokens: 100_000 }, provider });
  world.model.usage = useOf(800);
  await world.say(A, 'SAY: one');
  assert.equal((await spentOf(world)).tokens, 1000);
  world.model.failNext({ kind: 'status', status: 503 });
  await world.say(A, 'SAY: two');
  assert.equal((await spentOf(world)).tokens, 2000);
  world.model.failNext({ kind: 'charge', usage: useOf() });
  await world.say(A, 'SAY: three');
  assert.equal((await spentOf(world)).tokens, 3900, 'it had said 900 when it broke');
});

test('[BU7] what a model does not say counts as what was reserved', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 100_000 } });
  await world.say(A, 'SAY: one');
  world.model.usage = undefined;
  world.model.reportsUsage = false;
  await world.say(A, 'SAY: two');
  assert.equal((await spentOf(world)).tokens, 2000);
});

test('[BU7] a stop frees what the run and its child have reserved', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 100_000 } });
  await world.say(A, 'SAY: one');
  const held = world.model.hold('STAY');
  const child = await spawn(world, 'STAY\nSAY: x');
  const said = world.say(A, 'STAY\nSAY: y');
  await held.arrived(2);
  assert.equal((await rowOf(world))?.going, 2);
  await world.client.request('chat.abort', { sessionKey: A });
  await said;
  held.release();
  await world.quiet();
  assert.equal((await runOf(world, child['runId'])).state, 'aborted');
  const { tokens } = await spentOf(world);
  assert.ok(tokens >= 1000 && tokens <= 3000, `${tokens}`);
});

test('[BU12] a budget that is lowered or set while a run is going holds from its next call on', async (t) => {
  for (const before of [{ tokens: 100_000 }, undefined]) {
    const world = await startBudgeted(t, before === undefined ? {} : { budget: before });
    const held = world.model.hold('GO ON');
    const said = world.say(A, `GO ON\n${LOOK}\n${LOOK}\n${LOOK}\nSAY: x`);
    await held.arrived();
    await setBudgets(world, { tokens: 1500 });
    held.release();
    const { runId } = await said;
    const { error } = await runOf(world, runId);
    assert.match(error ?? '', /of 1500 tokens/, `before: ${JSON.stringify(before)}`);
    await spentOf(world);
  }
});

test('[BU12] a budget that is raised or taken away lets a run go on, and nothing stays reserved', async (t) => {
  for (const after of [{ tokens: 100_000 }, undefined]) {
    const world = await startBudgeted(t, { budget: { tokens: 1500 } });
    const held = world.model.hold('GO ON');
    const said = world.say(A, `GO ON\n${LOOK}\n${LOOK}\nSAY: x`);
    await held.arrived();
    await setBudgets(world, after);
    held.release();
    assert.equal((await said)['status'], 'ok', `after: ${JSON.stringify(after)}`);
    await spentOf(world);
  }
});

test('[BU12] an empty budget of an agent is none', async (t) => {
  const world = await startWorld(t, {
    config: { agents: { ...agentsOf({}), defaults: { budget: { runs: 1 } } } },
  });
  for (const text of ['SAY: one', 'SAY: two'])
    assert.equal((await world.say(A, text))['status'], 'ok');
  assert.equal(await rowOf(world), undefined);
});

test('[BU8] children side by side take their time once, and while nobody runs none goes by', async (t) => {
  const world = await startBudgeted(t, { budget: { seconds: 100 }, clock: 'movable' });
  const held = world.model.hold('SLOW');
  for (let child = 0; child < 3; child += 1) await spawn(world, 'SLOW\nSAY: x');
  await held.arrived(3);
  await world.passTime(30_000);
  held.release();
  await world.quiet();
  assert.equal((await spentOf(world)).seconds, 30);
  await world.passTime(3_600_000);
  await world.say(A, 'SAY: x');
  assert.equal((await spentOf(world)).seconds, 30);
});

test('[BU3] what a child is given counts all below it too, and ends only them', async (t) => {
  const world = await startBudgeted(t, { budget: { tokens: 100_000 } });
  const config = {
    agents: { ...agentsOf({ tokens: 100_000 }), defaults: { subagents: { maxSpawnDepth: 2 } } },
  };
  const file = join(world.gateway.stateDir, 'trunkline.json');
  const written = JSON.parse(readFileSync(file, 'utf8')) as Json;
  writeFileSync(file, JSON.stringify({ ...written, ...config }));
  await world.client.request('config.reload');
  const below = call('sessions_spawn', { task: `${READ}\n${READ}\n${READ}\nSAY: x` });
  const child = await spawn(world, `${below}\nSAY: y`, { budget: { tokens: 2500 } });
  await world.quiet();
  const { budgets } = await world.client.request<UsageAnswer>('usage', {
    sessionKey: String(child['childSessionKey']),
  });
  assert.deepEqual(
    budgets?.map(({ sessionKey }) => sessionKey),
    [A, child['childSessionKey']],
  );
  const own = budgets?.[1];
  assert.ok((own?.spent.tokens ?? 0) >= 2500, 'the grandchild spent of it');
  assert.equal((await world.say(A, 'SAY: z'))['status'], 'ok', 'the root has enough');
});
