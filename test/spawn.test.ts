import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import type { Store } from '../src/store/store.ts';
import { storedRows } from './helpers/stored-rows.ts';
import {
  call,
  startWorld,
  usersOf,
  type TestWorld,
  type WorldOptions,
} from './helpers/test-world.ts';
import type { TestContext } from 'node:test';

const A = 'agent:a:main';

/** a spawns from a run of its own, after a person has talked to it on webchat. */
async function spawn(world: TestWorld, args: Record<string, unknown>) {
  await world.say(A, `${call('sessions_spawn', args)}\nSAY: started`);
  await world.quiet();
  const answer = (await world.toolAnswers(A)).at(-1) ?? {};
  const childKey = String(answer['childSessionKey']);
  const announces = (await world.store.read((tx) => tx.deliveries.ofSession(A, 100))).filter(
    ({ idempotencyKey }) => idempotencyKey.startsWith('announce:'),
  );
  return { answer, childKey, announces };
}

test('[SP1] a spawn is accepted at once, with the child under a fresh sub-agent key', async (t) => {
  const world = await startWorld(t);
  const { answer, childKey } = await spawn(world, { task: 'SAY: done', label: 'kid' });
  assert.equal(answer['status'], 'accepted');
  assert.match(childKey, /^agent:a:subagent:[0-9a-f-]{36}$/);
  assert.equal(answer['mode'], 'run');
  assert.equal(answer['modelApplied'], 'fake/fake-1');
  const child = await world.store.read((tx) => tx.sessions.get(childKey));
  assert.deepEqual(
    [child?.label, child?.spawnedBy, child?.spawnDepth, child?.rootKey],
    ['kid', A, 1, A],
  );
  const [task] = usersOf(await world.history(childKey));
  assert.equal(task?.provenance?.sourceTool, 'sessions_spawn');
  assert.equal(task?.provenance?.sourceSessionKey, A);
});

test('[AN1, BR-077] the result is announced once: to the chat, and as a note in the requester', async (t) => {
  const world = await startWorld(t);
  const { childKey, announces } = await spawn(world, { task: 'SAY: forty-two', label: 'kid' });
  assert.equal(announces.length, 1);
  const [announce] = announces;
  assert.deepEqual([announce?.state, announce?.channel, announce?.routeTo], ['sent', 'webchat', A]);
  assert.match(announce?.text ?? '', /^Status: success\nResult: forty-two\n\nStats: runtime /);
  assert.ok(announce?.text.includes(`sessionKey ${childKey}`));
  await world.say(A, 'SAY: next');
  const notes = usersOf(await world.history(A)).filter(
    ({ provenance }) => provenance !== undefined,
  );
  assert.deepEqual(
    notes.map((note) => textOf(note)),
    [announce?.text],
  );
  assert.equal(notes[0]?.provenance?.sourceSessionKey, childKey);
});

test('[AN2] exactly ANNOUNCE_SKIP posts nothing at all', async (t) => {
  const rewrite = (text: string) =>
    text.includes('[Announce step') ? 'SAY: ANNOUNCE_SKIP' : undefined;
  const world = await startWorld(t, { rewrite });
  const { childKey, announces } = await spawn(world, { task: 'SAY: quiet' });
  assert.deepEqual(announces, []);
  assert.deepEqual(await world.store.read((tx) => tx.inputs.pending(A, 10)), []);
  assert.equal((await world.store.read((tx) => tx.spawns.get(childKey)))?.state, 'settled');
});

test('[AN3, BR-118] a failed child is announced with its error, without an announce turn', async (t) => {
  const world = await startWorld(t);
  const { announces } = await spawn(world, { task: 'FAIL: 400 no such thing' });
  assert.match(announces[0]?.text ?? '', /^Status: error\nResult: \(not available\)\nNotes: .*400/);
  const asked = world.model.requests.filter(({ raw }) => raw.includes('[Announce step'));
  assert.equal(asked.length, 0);
});

test('[AN4, BR-045] a child that never ends is stopped at its limit and announced with Status timeout', async (t) => {
  const world = await startWorld(t);
  world.model.failNext({ kind: 'hang' }, 0);
  const { answer, announces } = await spawn(world, {
    task: 'SLEEP: 60000',
    runTimeoutSeconds: 0.3,
  });
  const wait = await world.client.request('agent.wait', { runId: answer['runId'] });
  assert.deepEqual([wait['status'], wait['outcome']], ['timeout', 'timeout']);
  assert.equal(announces.length, 1);
  assert.match(announces[0]?.text ?? '', /^Status: timeout\n/);
});

test('[AN4, BR-045] a child whose runtime never comes back is stopped at its limit, announced once, and its place is free', async (t) => {
  const stuck = Promise.withResolvers<never>();
  // a step of the runtime that ends never, whatever it is told
  const wrapStore = (store: Store): Store => ({
    read: (...given) => store.read(...given),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
    write: (unit, fn) => (unit === 'plan-tools' ? stuck.promise : store.write(unit, fn)),
  });
  const subagents = { maxConcurrent: 1, maxChildrenPerAgent: 1, announce: { mode: 'template' } };
  const world = await startWorld(t, { wrapStore, config: { agents: { defaults: { subagents } } } });
  await world.say(A, 'SAY: hi');
  const task = `${call('read', { path: 'x' })}\nSAY: never`;
  const { runId } = await world.tool('sessions_spawn', { task, runTimeoutSeconds: 1 });
  const wait = await world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  assert.deepEqual([wait['status'], wait['outcome']], ['timeout', 'timeout']);
  await world.quiet();
  const next = await world.tool('sessions_spawn', { task: 'SAY: next' });
  const ended = await world.client.request('agent.wait', { runId: next['runId'] });
  assert.equal(ended['reply'], 'next');
  await world.quiet();
  const announced = (await world.store.read((tx) => tx.deliveries.ofSession(A, 100)))
    .filter(({ idempotencyKey }) => idempotencyKey.startsWith('announce:'))
    .map(({ text }) => text.split('\n')[0]);
  assert.equal(announced.length, 2);
  assert.deepEqual(new Set(announced), new Set(['Status: success', 'Status: timeout']));
});

test('[AN5, BR-113] an empty final reply gives the newest tool result as Result', async (t) => {
  const world = await startWorld(t);
  const files = ['T-first', 'T-last'].map((content) => ({ path: `${content}.txt`, content }));
  const calls = files.flatMap(({ path, content }) => [
    call('write', { path, content }),
    call('read', { path }),
  ]);
  const { announces } = await spawn(world, { task: `${calls.join('\n')}\nEMPTY` });
  const text = announces[0]?.text ?? '';
  assert.match(
    text,
    /^Status: success\nResult: .*T-last.*\nNotes: The run ended without assistant text\./,
  );
  assert.doesNotMatch(text, /T-first/);
});

test('[AN6, BR-199] mode template makes no extra model call and posts the child’s last text', async (t) => {
  const config = { agents: { defaults: { subagents: { announce: { mode: 'template' } } } } };
  const world = await startWorld(t, { config });
  const { announces } = await spawn(world, { task: 'SAY: plain' });
  assert.match(announces[0]?.text ?? '', /^Status: success\nResult: plain\n\nStats: /);
  assert.equal(world.model.requests.filter(({ raw }) => raw.includes('SAY: plain')).length, 3);
});

test('[AN7] without a chat the result goes to the transcript alone, and the row says why', async (t) => {
  const world = await startWorld(t);
  const answer = await world.tool('sessions_spawn', { task: 'SAY: x' });
  assert.equal(answer['status'], 'accepted');
  await world.quiet();
  const rows = await world.store.read((tx) => tx.deliveries.ofSession(A, 10));
  assert.deepEqual(
    rows.map(({ state, reason }) => [state, reason]),
    [['suppressed', 'no_route']],
  );
  const notes = await world.store.read((tx) => tx.inputs.pending(A, 10));
  assert.equal(notes.length, 1);
});

test('[AN8] a denied chat gets no announce, the transcript does', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: hi');
  await world.client.request('sessions.patch', { key: A, sendPolicy: 'deny' });
  await world.tool('sessions_spawn', { task: 'SAY: x' });
  await world.quiet();
  const rows = await world.store.read((tx) => tx.deliveries.ofSession(A, 10));
  assert.deepEqual(
    rows.flatMap(({ state, reason, idempotencyKey }) =>
      idempotencyKey.startsWith('announce:') ? [[state, reason]] : [],
    ),
    [['suppressed', 'send_policy']],
  );
});

test('[AN9, BR-117] unknown usage is announced as n/a, and no cost is shown', async (t) => {
  const world = await startWorld(t);
  world.model.reportsUsage = false;
  const { announces } = await spawn(world, { task: 'SAY: x' });
  assert.match(announces[0]?.text ?? '', /tokens n\/a/);
  assert.ok(!announces[0]?.text.includes('est $'));
});

test('[SP2, BR-092] only agents of the allow list are accepted, and the error names the list', async (t) => {
  const world = await startWorld(t, {
    config: { agents: { list: [{ id: 'main' }, { id: 'coding' }, { id: 'sec' }] } },
  });
  const listed = await world.tool('agents_list', {});
  assert.deepEqual(
    (listed['agents'] as { id: string }[]).map(({ id }) => id),
    ['main'],
  );
  const refused = await world.tool('sessions_spawn', { task: 'x', agentId: 'coding' });
  assert.equal(refused['status'], 'forbidden');
  assert.match(String(refused['error']), /agents\.list\[\]\.subagents\.allowAgents.*allowed: main/);
  const accepted = await world.tool('sessions_spawn', { task: 'SAY: x', agentId: 'main' });
  assert.equal(accepted['status'], 'accepted');
});

const manyAgents = (list: Record<string, unknown>[]): WorldOptions => ({
  config: { agents: { list } },
});
const noAttachments = { tools: { sessions_spawn: { attachments: { enabled: false } } } };
const attachments = [{ name: 'a.txt', content: 'x' }];
const NO_AGENT_ID = { agents: { defaults: { subagents: { requireAgentId: true } } } };

/** Each breaks a rule of B7.3 and the next one that it can break with it: the earlier one answers. */
const refusals: [string, Record<string, unknown>, WorldOptions, RegExp][] = [
  ['an unknown parameter', { modle: 'x', agentId: 'ghost' }, {}, /nearest: "model"/],
  [
    'no agentId where one is required',
    { sandbox: 'require' },
    { config: NO_AGENT_ID },
    /requireAgentId/,
  ],
  ['an unknown agent', { agentId: 'ghost', sandbox: 'require' }, {}, /ghost may not be spawned/],
  [
    'an agent that its own list leaves out',
    { agentId: 'b', sandbox: 'require' },
    manyAgents([{ id: 'a', subagents: { allowAgents: ['c'] } }, { id: 'b' }, { id: 'c' }]),
    /allowed: a, c$/,
  ],
  ['a sandbox', { sandbox: 'require', mode: 'session' }, {}, /sandbox: "require"/],
  ['a session that stays', { mode: 'session', model: 'nope/x' }, {}, /needs thread: true/],
  ['a thread', { thread: true, mode: 'session', model: 'nope/x' }, {}, /thread: true yet/],
  ['an unknown model', { model: 'nope/x', attachments }, {}, /nope/],
  ['closed attachments', { attachments }, { config: noAttachments }, /attachments\.enabled/],
  [
    'two attachments of one name',
    { attachments: [...attachments, ...attachments] },
    {},
    /same name.*no child was started/,
  ],
];
for (const [what, args, options, expected] of refusals) {
  test(`[SP3, SP10] a spawn with ${what} is refused and leaves nothing`, async (t) => {
    const world = await startWorld(t, options);
    await world.quiet();
    const before = storedRows(world.gateway.stateDir);
    const answer = await world.tool('sessions_spawn', { task: 'x', ...args });
    assert.deepEqual(Object.keys(answer).toSorted(), ['error', 'status']);
    assert.match(String(answer['error']), expected);
    assert.deepEqual(storedRows(world.gateway.stateDir), before);
  });
}

test('[SP4, BR-141] a sub-agent is offered no session tools, and may not spawn even when it names one', async (t) => {
  const world = await startWorld(t);
  const { childKey } = await spawn(world, {
    task: call('sessions_spawn', { task: 'SAY: grandchild' }),
  });
  const request = world.model.requests.find(({ raw }) => raw.includes('You are a sub-agent'));
  const names = (request!.body['tools'] as { function: { name: string } }[]).map(
    (tool) => tool.function.name,
  );
  assert.deepEqual(names.toSorted(), ['edit', 'exec', 'read', 'write']);
  const children = await world.store.read((tx) =>
    tx.sessions.scan({
      scope: { type: 'below', ancestorKey: childKey },
      archived: false,
      cursor: undefined,
      limit: 10,
    }),
  );
  assert.deepEqual(children, []);
});

test('[SP5, BR-134] the limit of active children holds under a burst', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('You are a sub-agent');
  const burst = async (count: number): Promise<Record<string, unknown>[]> =>
    Promise.all(
      Array.from({ length: count }, () => world.tool('sessions_spawn', { task: 'SAY: x' })),
    );
  const refused = (answers: Record<string, unknown>[]) =>
    answers.filter(({ status }) => status !== 'accepted');
  const first = refused(await burst(50));
  assert.equal(first.length, 45);
  for (const { status, error } of first) {
    assert.equal(status, 'forbidden');
    assert.match(String(error), /maxChildrenPerAgent is 5/);
  }
  held.release();
  await world.quiet();
  const again = world.model.hold('You are a sub-agent');
  assert.equal(refused(await burst(6)).length, 1, 'five more fit');
  again.release();
  await world.quiet();
});

test('[SP6] the same idempotency key gives the same child', async (t) => {
  const world = await startWorld(t);
  const args = { task: 'SAY: x', idempotencyKey: 'k' };
  const first = await world.tool('sessions_spawn', args);
  assert.deepEqual(await world.tool('sessions_spawn', args), first);
  const other = await world.tool('sessions_spawn', { ...args, task: 'SAY: y' });
  assert.equal(other['status'], 'error');
});

test('[SP6, AR13] a key is good after the child was purged too: it is not spawned a second time', async (t) => {
  const world = await startWorld(t);
  const args = { task: 'SAY: x', idempotencyKey: 'k' };
  const first = await world.tool('sessions_spawn', args);
  await world.quiet();
  const key = String(first['childSessionKey']);
  await world.client.request('sessions.delete', { key, deleteTranscript: true });
  await world.quiet();
  assert.equal(await world.store.read((tx) => tx.sessions.get(key)), undefined);
  const again = await world.tool('sessions_spawn', args);
  assert.deepEqual(
    [again['status'], again['runId'], again['childSessionKey']],
    ['accepted', first['runId'], key],
  );
});

test('[SP7, BR-168] model and thinking of a child follow parameter, agent, defaults, caller', async (t: TestContext) => {
  const subagents = { thinking: 'high' };
  const world = await startWorld(t, { config: { agents: { defaults: { subagents } } } });
  const byDefault = await world.tool('sessions_spawn', { task: 'SAY: x' });
  assert.equal(byDefault['thinkingApplied'], 'high');
  const byParam = await world.tool('sessions_spawn', { task: 'SAY: x', thinking: 'low' });
  assert.equal(byParam['thinkingApplied'], 'low');
  const child = await world.store.read((tx) => tx.sessions.get(String(byParam['childSessionKey'])));
  assert.equal(child?.thinkingLevel, 'low');
});
