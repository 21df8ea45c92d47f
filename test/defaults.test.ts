/** What the shipped defaults let a session reach: itself and what it spawned. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { call, keysOf, startWorld, type TestWorld } from './helpers/test-world.ts';

const SCOUT = 'agent:scout:main';
const OF_CHILDREN = 'You are a sub-agent';

/** Two agents, and nothing else configured. */
const startDefault = (t: TestContext): Promise<TestWorld> =>
  startWorld(t, {
    agents: false,
    config: { agents: { list: [{ id: 'main', default: true }, { id: 'scout' }] } },
  });

test('[DF1] main may not send to another agent, and a missing session reads the same', async (t) => {
  const world = await startDefault(t);
  const row = await world.store.read((tx) => tx.sessions.get(SCOUT));
  const answers = [];
  for (const address of [
    { sessionKey: SCOUT },
    { sessionKey: String(row?.sessionId) },
    { agentId: 'scout' },
    { sessionKey: 'agent:scout:cli:missing' },
    { sessionKey: '00000000-0000-4000-8000-000000000000' },
    { agentId: 'ghost' },
    { label: 'missing' },
  ]) {
    answers.push(await world.tool('sessions_send', { ...address, message: 'x' }));
  }
  const [first] = answers;
  assert.equal(first?.['status'], 'forbidden');
  assert.match(String(first?.['error']), /tools\.sessions\.visibility is "tree"/);
  for (const answer of answers) assert.deepEqual(answer, first);
  // The same from a run of the agent.
  await world.say('main', `${call('sessions_send', { sessionKey: SCOUT, message: 'x' })}\nSAY: ok`);
  assert.deepEqual((await world.toolAnswers('main')).at(-1), first);
  assert.deepEqual(await world.tool('sessions_history', { sessionKey: SCOUT }), first);
  assert.deepEqual(await world.history(SCOUT), []);
});

test('[DF2, BR-004] a list shows the session itself, says that it is restricted, and leaks nothing', async (t) => {
  const world = await startDefault(t);
  for (const n of [1, 2, 3]) await world.say(`agent:main:discord:group:g${n}`, 'SAY: hi');
  const list = await world.tool('sessions_list', {});
  const { sessions, ...page } = list;
  assert.deepEqual(keysOf({ sessions }), ['main']);
  assert.deepEqual(page, {
    count: 1,
    limitApplied: 100,
    hasMore: false,
    visibility: { mode: 'tree', restricted: true },
  });
  assert.doesNotMatch(JSON.stringify(list), /scout|discord/);
});

test('[DF3] what a session spawned is in its reach, while it runs and afterwards', async (t) => {
  const world = await startDefault(t);
  const held = world.model.hold(OF_CHILDREN);
  const spawned = await world.tool('sessions_spawn', { task: 'SAY: done' });
  const childKey = String(spawned['childSessionKey']);
  await held.arrived();
  const listed = await world.tool('sessions_list', {});
  const row = (listed['sessions'] as Record<string, unknown>[]).find(({ key }) => key === childKey);
  assert.deepEqual(
    [row?.['state'], row?.['spawnedBy'], row?.['kind']],
    ['running', 'main', 'other'],
  );
  held.release();
  await world.quiet();
  const history = await world.tool('sessions_history', { sessionKey: childKey });
  assert.equal((history['messages'] as unknown[]).length, 4);
  const answer = await world.tool('sessions_send', { sessionKey: childKey, message: 'SAY: again' });
  assert.deepEqual([answer['status'], answer['reply']], ['ok', 'again']);
  // The child of the same agent reaches neither its parent nor the other agent, and has no session tools at all.
  await assert.rejects(world.tool('sessions_list', {}, childKey), /tool policy does not offer/);
});

test('[DF4] an agent may spawn under itself alone', async (t) => {
  const world = await startDefault(t);
  assert.deepEqual(await world.tool('agents_list', {}), {
    requester: 'main',
    allowAny: false,
    agents: [{ id: 'main', configured: true }],
  });
  const refused = await world.tool('sessions_spawn', { task: 'x', agentId: 'scout' });
  assert.equal(refused['status'], 'forbidden');
});
