import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import type { AnnounceMode } from '../src/protocol/words.ts';
import {
  call,
  outlineOf,
  startWorld,
  usersOf,
  type TestWorld,
  type WorldOptions,
} from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const RESULT = '[result of your sub-agent';
const CHILD = 'You are a sub-agent';
/** in what a child of a child is asked, and in nothing else */
const BELOW_A_CHILD = '[task from agent:a:subagent:';

/** A world of one announce mode, in which `relay` is what a requester makes of a child's result. */
function startIn(
  t: TestContext,
  mode: AnnounceMode,
  {
    relay = 'SAY: relayed',
    subagents = {},
    ...options
  }: WorldOptions & { relay?: string; subagents?: Json } = {},
): Promise<TestWorld> {
  const defaults = { subagents: { announce: { mode }, ...subagents } };
  return startWorld(t, {
    rewrite: (text) => (text.startsWith(RESULT) ? relay : undefined),
    ...options,
    config: { agents: { defaults }, ...options.config },
  });
}

/** a spawns from a run of its own, after a person has talked to it on webchat; resolves once the run has ended. */
async function spawn(world: TestWorld, args: Json): Promise<{ childKey: string; runId: string }> {
  await world.say(A, `${call('sessions_spawn', args)}\nSAY: started`);
  const answer = (await world.toolAnswers(A)).at(-1) ?? {};
  return { childKey: String(answer['childSessionKey']), runId: String(answer['runId']) };
}

/** State, reason and first line of what was put into the outbox of a session since its own replies. */
async function outbox(world: TestWorld, key = A): Promise<string[]> {
  const rows = await world.store.read((tx) => tx.deliveries.ofSession(key, 100));
  return rows
    .filter(({ text }) => text !== 'started')
    .map(({ state, reason, text }) => `${reason ?? state}: ${text.split('\n')[0]}`);
}

const waiting = (world: TestWorld, key = A) => world.store.read((tx) => tx.inputs.pending(key, 20));
const outline = async (world: TestWorld, key: string): Promise<string[]> =>
  outlineOf(await world.history(key)).map((line) => line.split('\n')[0]!);

test('[AN14] a relay turn has the announce as its message, with its source and what becomes of the reply', async (t) => {
  const world = await startIn(t, 'relay');
  const { childKey } = await spawn(world, { task: 'SAY: forty-two', label: 'kid' });
  await world.quiet();
  assert.deepEqual(await outbox(world), ['sent: relayed']);
  const told = usersOf(await world.history(A)).at(-1)!;
  assert.match(textOf(told), /^Status: success\nResult: forty-two\n\nStats: runtime /);
  const { kind, sourceSessionKey, sourceTool } = told.provenance!;
  assert.deepEqual(
    [kind, sourceSessionKey, sourceTool],
    ['inter_session', childKey, 'sessions_spawn'],
  );
  const asked = world.model.requests.find(({ raw }) => raw.includes(RESULT))!;
  assert.ok(asked.raw.includes(`${RESULT} \\"kid\\" ${childKey}; from the gateway, not a person.`));
  assert.ok(asked.raw.includes('posted to your webchat chat'));
  assert.deepEqual(await waiting(world), []);
});

const RELAYS: [what: string, relay: string, told: string[]][] = [
  ['a silence word posts nothing', 'SAY: NO_REPLY', []],
  ['a silence word beside a text is taken out', 'SAY: well NO_REPLY done', ['sent: well done']],
  ['an empty reply is no silence: the announce is posted', 'EMPTY', ['sent: Status: success']],
  ['a turn that fails: the announce is posted', 'FAIL: 400 no', ['sent: Status: success']],
];
for (const [what, relay, told] of RELAYS) {
  test(`[AN14] mode relay: ${what}`, async (t) => {
    const world = await startIn(t, 'relay', { relay });
    const { childKey } = await spawn(world, { task: 'SAY: x' });
    await world.quiet();
    assert.deepEqual(await outbox(world), told);
    assert.deepEqual(await waiting(world), []);
    const announces = usersOf(await world.history(A)).filter(({ provenance }) => provenance);
    assert.equal(announces.length, 1, 'it stands once in the transcript');
    assert.equal((await world.store.read((tx) => tx.spawns.get(childKey)))?.state, 'settled');
  });
}

test('[AN5, BR-119] an announce turn that streams a silence word shows none of it, and posts nothing', async (t) => {
  const world = await startIn(t, 'post', {
    rewrite: (text) => (text.startsWith('[Announce step') ? 'CHUNKS: 4\nSAY: NO_REPLY' : undefined),
  });
  const shown: string[] = [];
  world.client.on(({ event, payload }) => {
    if (event === 'chat' || event === 'agent') shown.push(JSON.stringify(payload));
  });
  const { childKey } = await spawn(world, { task: 'SAY: x' });
  await world.quiet();
  await world.client.request('health');
  assert.deepEqual(await outbox(world), []);
  assert.ok(shown.some((line) => line.includes(childKey)));
  for (const line of shown) assert.doesNotMatch(line, /"NO(_[A-Z]*)?"/);
  assert.equal((await world.store.read((tx) => tx.spawns.get(childKey)))?.state, 'settled');
});

test('[AN14] a relay turn that a person stops posts nothing, and what it was to pass on is still read', async (t) => {
  const world = await startIn(t, 'relay');
  await world.say(A, 'SAY: hi');
  const busy = world.model.hold('SAY: busy');
  const going = world.say(A, 'SAY: busy');
  await busy.arrived();
  const { runId } = await world.tool('sessions_spawn', { task: 'SAY: x' }, A);
  await world.client.request('agent.wait', { runId });
  await until(
    world,
    async () =>
      (await world.store.read((tx) => tx.runs.get(`${String(runId)}:relay`))) !== undefined,
  );
  await world.client.request('runs.stop', { runId: `${String(runId)}:relay` });
  busy.release();
  await going;
  await world.quiet();
  assert.deepEqual(
    (await outbox(world)).filter((line) => line.includes('Status')),
    ['stopped: Status: success'],
  );
  assert.deepEqual(
    (await waiting(world)).map(({ kind }) => kind),
    ['announce'],
  );
});

/** Resolves when it is so; looks again after each commit. */
async function until(world: TestWorld, isSo: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = world.store.onSignal(() => resolve());
    const isDone = await isSo();
    if (!isDone) await promise;
    stop();
    if (isDone) return;
  }
}

const NESTED = { subagents: { maxSpawnDepth: 2 } };
/** The task of a parent that spawns one child and then answers. */
const parentOf = (task: string, args: Json = {}): string =>
  `${call('sessions_spawn', { task, ...args })}\nSAY: parent said`;

/** Keys of the spawns below a, the upper one first, once all is quiet. */
async function family(world: TestWorld): Promise<[parent: string, child: string]> {
  const parent = String((await world.toolAnswers(A)).at(-1)?.['childSessionKey']);
  const child = String((await world.toolAnswers(parent)).at(-1)?.['childSessionKey']);
  return [parent, child];
}

test('[AN15, BR-141] a sub-agent is told in a turn of its own, and announced after its children', async (t) => {
  const world = await startIn(t, 'post', NESTED);
  await spawn(world, { task: parentOf('SLEEP: 300\nSAY: child said') });
  await world.quiet();
  const [parent, child] = await family(world);
  const lines = await outline(world, parent);
  assert.deepEqual(lines.slice(3), [
    'assistant: parent said',
    'user: Status: success',
    'assistant: relayed',
    'user: Sub-agent announce step.',
    'assistant: relayed',
  ]);
  assert.deepEqual(await outbox(world, parent), [], 'a sub-agent has no chat');
  const [announce] = await world.store.read(async (tx) =>
    (await tx.deliveries.ofSession(A, 9)).filter(({ text }) => text !== 'started'),
  );
  assert.match(announce!.text, /^Status: success\nResult: relayed\n/);
  const [own, below] = await world.store.read(async (tx) => [
    await tx.spawns.get(parent),
    await tx.spawns.get(child),
  ]);
  assert.ok(below!.settledAt! <= own!.settledAt!);
  const asked = world.model.requests.find(({ raw }) => raw.includes(RESULT))!;
  assert.ok(asked.raw.includes('What you answer now replaces your final reply'));
});

test('[AN15] the Result of a parent is what it said last, also without an announce turn', async (t) => {
  const world = await startIn(t, 'template', NESTED);
  await spawn(world, { task: parentOf('SLEEP: 300\nSAY: child said') });
  await world.quiet();
  const [announce] = await world.store.read(async (tx) =>
    (await tx.deliveries.ofSession(A, 9)).filter(({ text }) => text !== 'started'),
  );
  assert.match(announce!.text, /^Status: success\nResult: relayed\n/);
});

const BELOW: [what: string, task: string, args: Json, status: string][] = [
  ['fails', 'FAIL: 400 no', {}, 'error'],
  ['never ends, until its limit', 'SLEEP: 60000', { runTimeoutSeconds: 0.5 }, 'timeout'],
];
for (const [what, task, args, status] of BELOW) {
  test(`[AN15] a parent whose child ${what} is told, and announced after it`, async (t) => {
    const world = await startIn(t, 'post', NESTED);
    await spawn(world, { task: parentOf(task, args) });
    await world.quiet();
    const [parent] = await family(world);
    assert.ok((await outline(world, parent)).includes(`user: Status: ${status}`));
    assert.deepEqual(await outbox(world), ['sent: Status: success']);
  });
}

test('[AN15] a parent that waits for its own child goes on with the result, and is announced once', async (t) => {
  const world = await startIn(t, 'post', {
    ...NESTED,
    config: {
      tools: {
        allow: ['*', 'sessions_wait'],
        subagents: { tools: { allow: ['*', 'sessions_wait'] } },
      },
    },
    subagents: { maxSpawnDepth: 2 },
    rewrite: (text, raw) => {
      if (text.startsWith(RESULT)) return 'SAY: relayed';
      const runId = /runId\\?":\\?"([0-9a-f-]{36})/.exec(
        raw.slice(raw.lastIndexOf('childSessionKey') - 120),
      )?.[1];
      return raw.includes(CHILD) && text.includes('WAIT') && runId !== undefined
        ? text.replace('WAIT', call('sessions_wait', { runIds: [runId], timeoutSeconds: 30 }))
        : undefined;
    },
  });
  await spawn(world, {
    task: `${call('sessions_spawn', { task: 'SLEEP: 300\nSAY: child said' })}\nWAIT\nSAY: waited`,
  });
  await world.quiet();
  const [parent] = await world.store
    .read((tx) => tx.deliveries.ofSession(A, 9))
    .then(async () => [String((await world.toolAnswers(A)).at(-1)?.['childSessionKey'])]);
  const answers = await world.toolAnswers(parent!);
  assert.equal(answers.at(-1)?.['status'], 'ok');
  assert.deepEqual(await outbox(world), ['sent: Status: success']);
});

test('[AN15, SO2] a parent that is stopped takes its child along, and neither has another turn', async (t) => {
  const world = await startIn(t, 'post', NESTED);
  const held = world.model.hold(BELOW_A_CHILD);
  const task = `${call('sessions_spawn', { task: 'SAY: never' })}\nSLEEP: 60000`;
  await spawn(world, { task });
  await held.arrived();
  const [parent, below] = await family(world);
  await world.client.request('runs.stop', { sessionKey: parent });
  await world.quiet();
  assert.deepEqual(await outbox(world), ['stopped: Status: error']);
  assert.deepEqual(
    (await waiting(world, parent)).map(({ kind, text }) => [kind, /Notes: (.*)/.exec(text)?.[1]]),
    [['announce', 'stopped by the operator']],
  );
  const runs = await world.store.read(async (tx) => [
    await tx.runs.latestOf(parent),
    await tx.runs.latestOf(below),
  ]);
  assert.deepEqual(
    runs.map((run) => [run?.purpose, run?.state]),
    [
      ['task', 'aborted'],
      ['task', 'aborted'],
    ],
  );
});

test('[AN15, AN4] a parent that fails is announced at once, and its child reports above it', async (t) => {
  const world = await startIn(t, 'post', NESTED);
  const held = world.model.hold(BELOW_A_CHILD);
  const task = `${call('sessions_spawn', { task: 'SAY: late' })}\nSLEEP: 60000`;
  await spawn(world, { task, runTimeoutSeconds: 1.5 });
  await held.arrived();
  await until(world, async () => (await outbox(world)).some((line) => line.startsWith('sent: ')));
  assert.deepEqual(await outbox(world), ['sent: Status: timeout']);
  held.release();
  await world.quiet();
  assert.deepEqual((await outbox(world)).toSorted(), [
    'sent: Status: success',
    'sent: Status: timeout',
  ]);
  const [parent] = await family(world);
  assert.equal((await world.store.read((tx) => tx.runs.latestOf(parent)))?.purpose, 'task');
});

test('[AN21] an announce turn that fails leaves the last reply, and has a short limit', async (t) => {
  const world = await startIn(t, 'post', {
    rewrite: (text) => (text.startsWith('[Announce step') ? 'FAIL: 400 no' : undefined),
  });
  const { runId } = await spawn(world, { task: 'SAY: said' });
  await world.quiet();
  const [note] = await waiting(world);
  assert.match(note!.text, /^Status: success\nResult: said\n\nStats: /);
  const turn = await world.store.read((tx) => tx.runs.get(`${runId}:announce`));
  assert.equal(turn?.timeoutMs, 300_000);
});

test('[AN16] a requester that is gone is passed over: the session above it gets the result', async (t) => {
  const world = await startIn(t, 'post', NESTED);
  const held = world.model.hold(BELOW_A_CHILD);
  await spawn(world, { task: parentOf('SAY: late') });
  await held.arrived();
  const [parent] = await family(world);
  await world.store.write('gone', (tx) =>
    tx.sessions.update(parent, { archivedAt: tx.now, deletedAt: tx.now }),
  );
  held.release();
  await world.quiet();
  const told = await outbox(world);
  assert.deepEqual(told, ['sent: Status: success', 'sent: Status: success']);
  assert.equal((await waiting(world)).length, 2);
  assert.deepEqual(await waiting(world, parent), []);
});

test('[AN16] a result for an archived session is in its chat and its history at once', async (t) => {
  const world = await startIn(t, 'post');
  const held = world.model.hold(CHILD);
  const { childKey } = await spawn(world, { task: 'SAY: late' });
  await held.arrived();
  await world.store.write('archive', (tx) => tx.sessions.update(A, { archivedAt: tx.now }));
  held.release();
  await world.quiet();
  assert.deepEqual(await outbox(world), ['sent: Status: success']);
  const last = (await world.history(A)).at(-1)!;
  assert.match(textOf(last), /^Status: success\nResult: late\n/);
  assert.ok(last.role === 'user' && last.provenance?.sourceSessionKey === childKey);
});

test('[AN17, BR-078] a child whose session is taken away ends with an error, announced once', async (t) => {
  let database = '';
  const world = await startIn(t, 'post', {
    prepare: async (stateDir) => void (database = join(stateDir, 'trunkline.db')),
  });
  const held = world.model.hold(CHILD);
  const { childKey, runId } = await spawn(world, { task: 'SAY: late' });
  await held.arrived();
  const db = new DatabaseSync(database);
  db.prepare('delete from sessions where key = ?').run(childKey);
  db.close();
  held.release();
  const wait = await world.client.request('agent.wait', { runId });
  assert.deepEqual([wait['status'], wait['outcome']], ['error', 'error']);
  await world.quiet();
  assert.deepEqual(await outbox(world), ['sent: Status: error']);
  assert.equal((await waiting(world)).length, 1);
});

test('[AN17] a child whose run is gone is announced with Status unknown', async (t) => {
  let database = '';
  const world = await startIn(t, 'template', {
    prepare: async (stateDir) => void (database = join(stateDir, 'trunkline.db')),
  });
  const { childKey, runId } = await spawn(world, { task: 'SAY: x' });
  await world.quiet();
  const db = new DatabaseSync(database);
  db.exec(`delete from runs where run_id = '${runId}'`);
  db.exec(`delete from inputs where input_id = '${runId}:result'`);
  db.exec("delete from deliveries where delivery_id like 'announce:%'");
  db.close();
  await world.store.write('lose', async (tx) => {
    await tx.spawns.update(childKey, { state: 'announcing', settledAt: null });
    const payloadJson = JSON.stringify({ childKey });
    const jobKey = `announce-spawn:${childKey}`;
    await tx.jobs.add({ jobKey, kind: 'announce-spawn', payloadJson, runAt: tx.now });
    tx.signal({ type: 'job' });
  });
  await world.quiet();
  assert.deepEqual(await outbox(world), ['sent: Status: unknown']);
  const [note] = await waiting(world);
  assert.match(
    note!.text,
    /Result: \(not available\)\nNotes: The run is not in the store any more/,
  );
});

test('[AN12, BR-207] an error that quotes the prompt is announced without it', async (t) => {
  const world = await startIn(t, 'post');
  const task =
    'Find out what MARKER-ONE and MARKER-TWO have to do with each other, and nothing else.';
  const echo = `invalid request: messages[1].content: ${task} "${'You are a sub-agent MARKER-THREE '.repeat(3)}"`;
  world.model.failNext({ kind: 'status', status: 400, message: echo });
  await world.tool('sessions_spawn', { task }, A);
  await world.quiet();
  const [note] = await waiting(world);
  assert.match(
    note!.text,
    /^Status: error\nResult: \(not available\)\nNotes: .*invalid request: messages\[1\]\.content:…/,
  );
  assert.ok(!note!.text.includes('MARKER'));
});

test('[AN18, BR-045] a child is announced when it was stopped, whatever its runtime does', async (t) => {
  const world = await startIn(t, 'post');
  const held = world.model.hold(CHILD);
  const { childKey } = await spawn(world, { task: 'SAY: never' });
  await held.arrived();
  await world.client.request('runs.stop', { sessionKey: childKey });
  // its model still has not answered
  await world.quiet();
  assert.deepEqual(await outbox(world), ['stopped: Status: error']);
  const [note] = await waiting(world);
  assert.match(note!.text, /Notes: stopped by the operator/);
});

test('[AN19] a chain of relays and spawns comes to an end, and the refusal names the limit', async (t) => {
  const world = await startIn(t, 'relay', {
    relay: `${call('sessions_spawn', { task: 'SAY: again' })}\nSAY: relayed`,
    config: { session: { agentToAgent: { maxHops: 4 } } },
  });
  await spawn(world, { task: 'SAY: first' });
  await world.quiet();
  const answers = await world.toolAnswers(A);
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['accepted', 'accepted', 'error'],
  );
  assert.match(String(answers.at(-1)?.['error']), /session\.agentToAgent\.maxHops is 4/);
});

test('[SP8, BR-051] a child is told once that its time is nearly up', async (t) => {
  const step = call('write', { path: 'a.txt', content: 'x' });
  const world = await startIn(t, 'template', {
    clock: 'movable',
    rewrite: (text) =>
      text.includes('left of the time limit') ? `${step}\nSLEEP: 60000` : undefined,
  });
  // its first call is held while its time, and nobody else's, goes by
  const held = world.model.hold(CHILD);
  const task = [step, 'SAY: never'].join('\n');
  const { childKey, runId } = await spawn(world, { task, runTimeoutSeconds: 6 });
  await held.arrived();
  await world.passTime(4100);
  held.release();
  const wait = await world.client.request('agent.wait', { runId });
  assert.equal(wait['outcome'], 'timeout');
  const notices = usersOf(await world.history(childKey)).filter((message) =>
    textOf(message).includes('left of the time limit'),
  );
  assert.equal(notices.length, 1);
  assert.equal(notices[0]?.provenance?.sourceSessionKey, A);
  const last = world.model.requests.findLast(({ raw }) => raw.includes(CHILD))!;
  assert.equal(last.raw.split('left of the time limit').length, 2);
});

test('[SP9, BR-212] a child without a label is shown by the first words of its task', async (t) => {
  const world = await startIn(t, 'post');
  await world.tool('sessions_spawn', { task: 'Find the oldest date in the archive' }, A);
  await world.tool('sessions_spawn', { task: 'Find the newest one', label: 'newest' }, A);
  await world.quiet();
  const { sessions } = await world.client.request<{ sessions: Json[] }>('sessions.list', {
    spawnedBy: A,
  });
  assert.deepEqual(
    sessions.map(({ label, displayName }) => `${String(label)}: ${String(displayName)}`).toSorted(),
    ['newest: newest', 'undefined: Find the oldest date in the archive'],
  );
});
