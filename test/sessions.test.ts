/** Sessions over their life: routes, settings, transcripts, restarts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../src/protocol/message.ts';
import { openSqliteStore } from '../src/store/sqlite/open-sqlite-store.ts';
import { silentLogger } from '../src/util/logger.ts';
import { databaseOf, openGateway } from './helpers/open-gateway.ts';
import {
  call,
  keysOf,
  outlineOf,
  startWorld,
  usersOf,
  type TestWorld,
} from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const B = 'agent:b:main';
const OF_CHILDREN = 'You are a sub-agent';
const inB = `Your session is ${B}.`;

async function rowOf(world: TestWorld, key: string): Promise<Json> {
  const list = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
  return list.sessions.find((row) => row['key'] === key) ?? {};
}

test('[BR-034] a send, its exchange and a tool call leave the last route of the target alone', async (t) => {
  const world = await startWorld(t, {
    talk: true,
    config: { session: { agentToAgent: { maxPingPongTurns: 2 } } },
  });
  await world.client.runAgent({
    sessionKey: B,
    message: 'SAY: hi',
    channel: 'discord',
    to: 'u1',
    accountId: 'x',
    idempotencyKey: '1',
  });
  const route = async () => {
    const { channel, lastChannel, lastTo, deliveryContext } = await rowOf(world, B);
    return { channel, lastChannel, lastTo, deliveryContext };
  };
  const before = await route();
  assert.deepEqual(before, {
    channel: 'discord',
    lastChannel: 'discord',
    lastTo: 'u1',
    deliveryContext: { channel: 'discord', to: 'u1', accountId: 'x' },
  });
  await world.say(A, `${call('sessions_send', { sessionKey: B, message: 'SAY: x' })}\nSAY: ok`);
  await world.tool('sessions_send', { sessionKey: B, message: 'SAY: y' });
  await world.client.runAgent({ sessionKey: B, message: 'SAY: z', idempotencyKey: '2' });
  await world.quiet();
  assert.deepEqual(await route(), before);
});

test('[BR-184] a setting that is patched while a run goes on is still there when it has ended', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(inB);
  const run = world.say(B, 'SAY: x');
  await held.arrived();
  const patch = { key: B, sendPolicy: 'deny', label: 'quiet', thinkingLevel: 'low' };
  await world.client.request('sessions.patch', patch);
  held.release();
  await run;
  const { sendPolicy, label, thinkingLevel, totalTokens, state } = await rowOf(world, B);
  assert.deepEqual([sendPolicy, label, thinkingLevel, state], ['deny', 'quiet', 'low', 'idle']);
  assert.ok(Number(totalTokens) > 0);
});

test('[BR-204] a parent reads how far its child is, while the child works', async (t) => {
  const world = await startWorld(t);
  const first = world.model.hold(OF_CHILDREN);
  const task = `${call('write', { path: 'x.txt', content: 'x' })}\nSAY: done`;
  const { childSessionKey } = await world.tool('sessions_spawn', { task });
  const childKey = String(childSessionKey);
  await first.arrived();
  const { updatedAt } = await rowOf(world, childKey);
  // The next call is kept back as well.
  const second = world.model.hold('Wrote 1 bytes');
  first.release();
  await second.arrived();
  const history = await world.tool('sessions_history', {
    sessionKey: childKey,
    includeTools: true,
  });
  assert.deepEqual(outlineOf(history['messages'] as Message[]).slice(1), [
    'assistant: →write',
    'toolResult: Wrote 1 bytes to x.txt.',
  ]);
  const row = await rowOf(world, childKey);
  assert.equal(row['state'], 'running');
  assert.ok(Number(row['updatedAt']) > Number(updatedAt));
  second.release();
  await world.quiet();
  assert.equal((await rowOf(world, childKey))['state'], 'idle');
});

test('[BR-151] agent ids that differ by case are one session at every door', async (t) => {
  const world = await startWorld(t);
  const spellings = ['agent:a:cli:x', 'agent:A:cli:x', ' AGENT:A:cli:x '];
  for (const [at, sessionKey] of spellings.entries()) {
    const params = { sessionKey, message: `SAY: ${at}`, idempotencyKey: String(at) };
    assert.equal((await world.client.runAgent(params)).sessionKey, 'agent:a:cli:x');
    const answer = await world.tool('sessions_send', { sessionKey, message: `SAY: t${at}` });
    assert.deepEqual([answer['sessionKey'], answer['reply']], ['agent:a:cli:x', `t${at}`]);
  }
  assert.equal(usersOf(await world.history('agent:a:cli:x')).length, 6);
  const list = await world.tool('sessions_list', { search: 'cli' });
  assert.equal(list['count'], 1);
});

test('[BR-169, BR-056] what is not there is an error at every door, and nothing is made by asking', async (t) => {
  const world = await startWorld(t);
  const before = await world.store.read((tx) => tx.sessions.count());
  const key = 'agent:a:cli:nope';
  const asks: [string, Json][] = [
    ['chat.history', { sessionKey: key }],
    ['chat.history', { sessionKey: '00000000-0000-4000-8000-000000000000' }],
    ['agent.wait', { runId: 'nope' }],
    ['sessions.patch', { key, sendPolicy: 'deny' }],
    ['tools.invoke', { tool: 'sessions_list', sessionKey: key }],
  ];
  for (const [method, params] of asks) {
    await assert.rejects(world.client.request(method, params), { code: 'not_found' }, method);
  }
  for (const [tool, args] of [
    ['sessions_history', { sessionKey: key }],
    ['sessions_send', { sessionKey: key, message: 'x' }],
    ['sessions_list', { spawnedBy: key }],
  ] as const) {
    const answer = await world.tool(tool, args);
    assert.equal(answer['status'], 'error');
    assert.match(String(answer['error']), /not found/);
  }
  assert.equal(await world.store.read((tx) => tx.sessions.count()), before);
});

test('[BR-166] an activeMinutes that is no time is refused, never an empty list', async (t) => {
  const world = await startWorld(t);
  for (const activeMinutes of [0, -1, 'x', '60']) {
    const answer = await world.tool('sessions_list', { activeMinutes });
    assert.equal(answer['status'], 'error');
    assert.match(
      String(answer['error']),
      /activeMinutes of sessions_list must be a number above 0/,
    );
  }
});

test('[BR-006] rows are filtered by agent and age, newest first', async (t) => {
  const world = await startWorld(t);
  const now = Date.now();
  const hour = 3_600_000;
  for (const agentId of ['a', 'b', 'c']) {
    for (const n of [1, 2, 3]) await world.say(`agent:${agentId}:cli:${n}`, 'EMPTY');
  }
  await world.store.write('age', async (tx) => {
    await tx.sessions.update('agent:b:cli:2', { updatedAt: now - 2 * hour });
    await tx.sessions.update('agent:b:cli:1', { updatedAt: now - hour / 2 });
    await tx.sessions.update(B, { updatedAt: now - 2 * hour });
  });
  const list = await world.tool('sessions_list', { agentId: 'b', activeMinutes: 60 });
  assert.deepEqual(keysOf(list), ['agent:b:cli:3', 'agent:b:cli:1']);
  const other = await world.tool('sessions_list', { agentId: 'b', newerThanMinutes: 60 });
  assert.match(String(other['error']), /unknown parameter "newerThanMinutes".*activeMinutes/);
});

test('[BR-162] a model that breaks off within a tool call leaves a session that goes on', async (t) => {
  const world = await startWorld(t);
  world.model.failNext({
    kind: 'cut-tool-call',
    name: 'write',
    argumentsStart: '{"path":"\u0001\u0000',
    text: 'I will',
  });
  assert.equal((await world.say(B, 'SAY: x'))['outcome'], 'error');
  assert.equal((await world.say(B, 'SAY: next'))['reply'], 'next');
  const messages = await world.history(B);
  assert.equal(usersOf(messages).length, 2);
  assert.doesNotMatch(JSON.stringify(messages), /toolCall|\\u0000/);
  const sent = world.model.requests.at(-1)?.body['messages'] as {
    role: string;
    tool_calls?: unknown;
  }[];
  assert.ok(sent.every((message) => message.tool_calls === undefined));
  assert.deepEqual(sent.map(({ role }) => role).slice(-3), ['user', 'assistant', 'user']);
});

test('[BR-170] after a restart a session has the same messages in the same order', async (t) => {
  const world = await startWorld(t);
  for (const n of [1, 2]) await world.say(B, `SAY: ${n}`);
  await world.say(B, `${call('read', { path: 'none' })}\nSAY: 3`);
  const before = await world.client.request('chat.history', { sessionKey: B });
  assert.equal((before['messages'] as unknown[]).length, 8);
  await world.gateway.stop();
  const again = await openGateway(t, world.gateway.stateDir);
  assert.deepEqual(await again.client.request('chat.history', { sessionKey: B }), before);
  await again.close();
});

test('[BR-007] a session that a dead process left running is idle after a start, and takes the next message', async (t) => {
  const world = await startWorld(t);
  await world.say(B, 'SAY: before');
  await world.gateway.stop();
  const path = databaseOf(world.gateway.stateDir);
  const store = openSqliteStore({ path, clock: { now: Date.now }, logger: silentLogger });
  await store.write('leave-running', async (tx) => {
    for (const _ of [1, 2]) await tx.lanes.addRun(B, 'main', tx.now);
    const lane = await tx.lanes.claimNext({ runClass: 'main', owner: 'dead' });
    const fence = { sessionKey: B, owner: 'dead', epoch: lane!.epoch };
    await tx.lanes.setState(fence, 'running');
  });
  await store.close();
  const again = await openGateway(t, world.gateway.stateDir);
  // The other session's answer tells that the start has looked at the lanes.
  await again.client.runAgent({ sessionKey: A, message: 'SAY: x', idempotencyKey: 'a' });
  const list = await again.client.request<{ sessions: Json[] }>('sessions.list', {});
  assert.equal(list.sessions.find(({ key }) => key === B)?.['state'], 'idle');
  const final = await again.client.runAgent({
    sessionKey: B,
    message: 'SAY: after',
    idempotencyKey: 'k',
  });
  assert.equal(final.status, 'ok');
  await again.close();
});

test('[BR-148] a message to a session that is archived or gone is an error that says so', async (t) => {
  const world = await startWorld(t);
  const { childSessionKey } = await world.tool('sessions_spawn', { task: 'SAY: done' });
  const key = String(childSessionKey);
  await world.quiet();
  await world.store.write('archive', (tx) => tx.sessions.update(key, { archivedAt: tx.now }));
  const before = await world.history(key);
  const answer = await world.tool('sessions_send', { sessionKey: key, message: 'x' });
  assert.equal(answer['status'], 'error');
  assert.match(String(answer['error']), /is archived; it takes no messages/);
  const params = { sessionKey: key, message: 'x', idempotencyKey: 'k' };
  await assert.rejects(world.client.request('agent', params), /is archived/);
  assert.deepEqual(await world.history(key), before);
  const gone = {
    sessionKey: 'agent:a:subagent:00000000-0000-4000-8000-000000000000',
    message: 'x',
  };
  assert.match(String((await world.tool('sessions_send', gone))['error']), /not found/);
});

test('[BR-220] in global scope the one shared session is `main` to all, and `global` is no name', async (t) => {
  const world = await startWorld(t, {
    config: {
      session: { scope: 'global' },
      tools: {
        subagents: { tools: { allow: ['sessions_send', 'sessions_history', 'sessions_list'] } },
      },
    },
  });
  await world.say('main', 'SAY: shared');
  for (const from of ['main', 'agent:b:main']) {
    const list = await world.tool(
      'sessions_list',
      { includeGlobal: true, includeUnknown: true },
      from,
    );
    const keys = keysOf(list);
    assert.deepEqual(keys, ['main']);
  }
  for (const sessionKey of ['global', 'unknown', 'GLOBAL']) {
    const answer = await world.tool('sessions_history', { sessionKey });
    assert.equal(answer['status'], 'error', sessionKey);
  }
  const task = `${call('sessions_send', { sessionKey: 'main', message: 'SAY: heard', maxTurns: 0 })}\nSAY: done`;
  const { childSessionKey } = await world.tool('sessions_spawn', { task });
  await world.quiet();
  const [answer] = await world.toolAnswers(String(childSessionKey));
  assert.deepEqual(
    [answer?.['status'], answer?.['reply'], answer?.['sessionKey']],
    ['ok', 'heard', 'main'],
  );
  assert.equal(
    await world.store.read((tx) => tx.sessions.count()),
    2,
    'the shared one and the child',
  );
});

test('[BR-220, KY4] what names the shared session names it for whoever was told: `main` to a model, `global` to the operator', async (t) => {
  const world = await startWorld(t, { config: { session: { scope: 'global' } } });
  const group = 'agent:b:discord:group:G';
  await world.say(group, 'SAY: here');
  await world.say(
    'main',
    `${call('sessions_send', { sessionKey: group, message: 'SAY: heard', maxTurns: 1 })}\nSAY: done`,
  );
  await world.tool('sessions_spawn', { task: 'SAY: child' });
  await world.quiet();
  const told = world.model.requests.map(({ raw }) => raw);
  assert.ok(told.some((raw) => raw.includes('Your session is main.')));
  assert.ok(told.some((raw) => raw.includes('[inter-session message from main')));
  assert.ok(told.some((raw) => raw.includes('[task from main via sessions_spawn')));
  assert.ok(told.every((raw) => !/\bglobal\b/.test(raw)));

  const { sessions } = await world.client.call('sessions.list', {});
  const shared = sessions.find(({ kind }) => kind === 'main')?.key;
  assert.equal(shared, 'global');
  assert.equal((await world.say(shared, 'SAY: to global'))['reply'], 'to global');
  assert.deepEqual(await world.history(shared), await world.history('main'));
  const { key } = await world.client.call('sessions.patch', { key: shared, label: 'all of us' });
  assert.equal(key, shared);
  assert.equal(keysOf(await world.tool('sessions_list', {}, shared))[0], 'main');
});
