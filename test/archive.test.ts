/** Sub-agent sessions that are put away by their clock, and what is left of them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { call, keysOf, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const MINUTE = 60_000;
const after = (archiveAfterMinutes: number) => ({
  clock: 'movable' as const,
  config: { agents: { defaults: { subagents: { archiveAfterMinutes } } } },
});

interface Child {
  childKey: string;
  runId: string;
}

async function spawn(world: TestWorld, args: Json): Promise<Child> {
  await world.say(A, `${call('sessions_spawn', args)}\nSAY: started`);
  const answer = (await world.toolAnswers(A)).at(-1);
  return { childKey: String(answer?.['childSessionKey']), runId: String(answer?.['runId']) };
}
const row = (world: TestWorld, key: string) => world.store.read((tx) => tx.sessions.get(key));
const isArchived = async (world: TestWorld, key: string): Promise<boolean> =>
  (await row(world, key))?.archivedAt !== null;
const listed = async (world: TestWorld, args: Json = {}): Promise<string[]> =>
  keysOf(await world.tool('sessions_list', args, A));

async function passMinutes(world: TestWorld, minutes: number): Promise<void> {
  await world.passTime(minutes * MINUTE);
  await world.quiet();
}

test('[AR2, BR-121] the clock starts at the end of the run, not at the spawn', async (t) => {
  const world = await startWorld(t, after(1));
  const held = world.model.hold('You are a sub-agent');
  const { childKey } = await spawn(world, { task: 'SAY: done' });
  await held.arrived();
  for (let minutes = 0; minutes < 3; minutes += 1) {
    await world.passTime(MINUTE);
    assert.equal(await isArchived(world, childKey), false);
  }
  held.release();
  await world.quiet();
  await passMinutes(world, 0.9);
  assert.equal(await isArchived(world, childKey), false);
  await passMinutes(world, 0.1);
  assert.equal(await isArchived(world, childKey), true);
});

test('[AR2, BR-121] 0 minutes means never', async (t) => {
  const world = await startWorld(t, after(0));
  const { childKey } = await spawn(world, { task: 'SAY: done' });
  await world.quiet();
  assert.equal((await row(world, childKey))?.archiveAt, null);
  await passMinutes(world, 1_000_000);
  assert.equal(await isArchived(world, childKey), false);
});

test('[AR3, BR-008, BR-014] an archived session is out of the lists and counts, and can be read', async (t) => {
  const world = await startWorld(t, after(60));
  const { childKey } = await spawn(world, { task: 'SAY: forty-two', label: 'kid' });
  await world.quiet();
  await passMinutes(world, 59);
  assert.ok((await listed(world)).includes(childKey));
  assert.ok('messages' in (await world.tool('sessions_history', { sessionKey: childKey }, A)));
  await passMinutes(world, 1);
  assert.ok(!(await listed(world)).includes(childKey));
  assert.deepEqual(await listed(world, { archived: true }), [childKey]);
  const sessionId = (await row(world, childKey))?.sessionId;
  for (const sessionKey of [childKey, sessionId]) {
    const { messages } = await world.tool('sessions_history', { sessionKey }, A);
    assert.match(JSON.stringify(messages), /forty-two/);
  }
  assert.equal(await world.store.read((tx) => tx.sessions.countActiveChildren(A)), 0);
  const { sessions } = await world.client.request<{ sessions: Json }>('status');
  assert.equal(JSON.stringify(sessions).includes(childKey), false);
});

test('[AR3, BR-148] a message to an archived session is an error that says so, at every door', async (t) => {
  const world = await startWorld(t, after(1));
  const { childKey } = await spawn(world, { task: 'SAY: done', label: 'kid' });
  await world.quiet();
  await passMinutes(world, 1);
  const sent = await world.tool('sessions_send', { sessionKey: childKey, message: 'more' }, A);
  assert.equal(sent['status'], 'error');
  assert.match(String(sent['error']), /archived/);
  for (const method of ['agent', 'chat.send']) {
    const params = { sessionKey: childKey, message: 'more', idempotencyKey: randomUUID() };
    await assert.rejects(world.client.request(method, params), /archived/);
  }
  await assert.rejects(world.tool('sessions_list', {}, childKey), /archived/);
});

test('[AR4] a further run starts the clock anew', async (t) => {
  const world = await startWorld(t, after(10));
  const { childKey } = await spawn(world, { task: 'SAY: done' });
  await world.quiet();
  await passMinutes(world, 9);
  await world.say(childKey, 'SAY: more');
  await world.quiet();
  await passMinutes(world, 9);
  assert.equal(await isArchived(world, childKey), false);
  await passMinutes(world, 1);
  assert.equal(await isArchived(world, childKey), true);
});

test('[AR5] a session with open work waits, and is archived once it is done', async (t) => {
  const world = await startWorld(t, after(1));
  const { childKey } = await spawn(world, { task: 'SAY: done' });
  await world.quiet();
  const held = world.model.hold(`Your session is ${childKey}.`);
  const idempotencyKey = randomUUID();
  const params = { sessionKey: childKey, message: 'SAY: more', idempotencyKey };
  const { runId } = await world.client.request('chat.send', params);
  await held.arrived();
  for (let minutes = 0; minutes < 3; minutes += 1) {
    await world.passTime(MINUTE);
    await noJobIsDue(world, childKey);
    assert.equal(await isArchived(world, childKey), false);
  }
  held.release();
  await world.client.request('agent.wait', { runId });
  await world.quiet();
  assert.equal(await isArchived(world, childKey), false);
  await passMinutes(world, 1);
  assert.equal(await isArchived(world, childKey), true);
});

test('[AR6] notes that wait do not keep a session open: they enter its transcript', async (t) => {
  const world = await startWorld(t, after(1));
  const { childKey } = await spawn(world, { task: 'SAY: done' });
  await world.quiet();
  for (const message of ['one', 'two']) {
    await world.tool('sessions_send', { sessionKey: childKey, message, mode: 'note' }, A);
  }
  await passMinutes(world, 1);
  assert.equal(await isArchived(world, childKey), true);
  const texts = (await world.history(childKey)).map(textOf);
  assert.deepEqual(texts.slice(-2), ['one', 'two']);
  assert.deepEqual(await world.store.read((tx) => tx.inputs.pending(childKey, 10)), []);
});

const OUTCOMES: [name: string, task: Json, announce?: Json][] = [
  ['ok', { task: 'SAY: SECRET' }],
  ['error', { task: 'FAIL: 400 SECRET' }],
  ['timeout', { task: 'SLEEP: 60000\nSAY: SECRET', runTimeoutSeconds: 0.2 }],
  ['ANNOUNCE_SKIP', { task: 'SAY: SECRET\nSAY: ANNOUNCE_SKIP' }],
  ['a silent announce', { task: 'SAY: SECRET' }, { mode: 'silent' }],
];

for (const [name, task, announce = {}] of OUTCOMES) {
  test(`[AR7, BR-052, BR-055] cleanup "delete" after ${name}: out of every tool, not before the announce`, async (t) => {
    const world = await startWorld(t, {
      config: { agents: { defaults: { subagents: { announce } } } },
    });
    const { childKey, runId } = await spawn(world, { ...task, cleanup: 'delete', label: 'gone' });
    const ended = await world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
    await world.quiet();
    const spawned = await world.store.read((tx) => tx.spawns.get(childKey));
    const child = await row(world, childKey);
    assert.equal(spawned?.state, 'settled');
    assert.ok((child?.deletedAt ?? 0) >= (spawned.settledAt ?? Infinity));
    const sessionId = String(child?.sessionId);
    for (const sessionKey of [childKey, sessionId]) {
      for (const tool of ['sessions_history', 'sessions_send']) {
        const args = tool === 'sessions_send' ? { sessionKey, message: 'x' } : { sessionKey };
        const answer = await world.tool(tool, args, A);
        assert.match(String(answer['error']), /not found/, `${tool} ${sessionKey}`);
      }
    }
    const lists = [{}, { archived: true }, { messageLimit: 5 }, { label: 'gone' }];
    for (const args of lists) assert.ok(!(await listed(world, args)).includes(childKey));
    const byLabel = await world.tool('sessions_send', { label: 'gone', message: 'x' }, A);
    assert.match(String(byLabel['error']), /not found/);
    // the operator reads it, and how it ended
    for (const sessionKey of [childKey, sessionId]) {
      assert.ok((await world.history(sessionKey)).length > 0);
    }
    const again = await world.client.request('agent.wait', { runId });
    assert.deepEqual(again, ended);
    assert.equal((await world.client.request('runs.get', { runId }))['messageState'], 'done');
  });
}

/** Resolves when the job of the session has looked. */
async function noJobIsDue(world: TestWorld, key: string): Promise<void> {
  for (;;) {
    const jobs = await world.store.read((tx) => tx.jobs.due(8_000_000_000_000, 100));
    const job = jobs.find(({ jobKey }) => jobKey === `archive-session:${key}`);
    const held = (await row(world, key))?.archiveAt ?? 0;
    if (job !== undefined && job.runAt > held) return;
    await new Promise((again) => setTimeout(again, 5));
  }
}
