/** `/send on|off|inherit` of an owner: on webchat, on the command line, in a chat (A6, B14). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { connectGateway, type GatewayClient } from '../src/client/gateway-client.ts';
import { runCli } from './helpers/captured-io.ts';
import { type ChatWorld, startChatWorld } from './helpers/chat-world.ts';
import { call, outlineOf, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const B = 'agent:b:main';
const OFF = /^Sending is off for this session/;

const chatSend = (client: GatewayClient, message: string, extra: Json = {}) =>
  client.request('chat.send', {
    sessionKey: A,
    message,
    idempotencyKey: randomUUID(),
    ...extra,
  });
const policyOf = async (world: TestWorld, key = A) =>
  (await world.store.read((tx) => tx.sessions.get(key)))?.sendPolicy;
const auditOf = async (world: TestWorld) =>
  (
    await world.client.request<{ lines: Json[] }>('audit.list', { action: 'command.send' })
  ).lines.map(({ actor, subjectId, detail }) => [actor, subjectId, detail]);

/** A client that may talk to sessions, and is no owner. */
async function stranger(t: TestContext, world: TestWorld): Promise<GatewayClient> {
  const { url, token } = world.gateway;
  const scopes = ['operator.read', 'operator.write'];
  const client = await connectGateway({ url, token, clientName: 'stranger', scopes });
  t.after(() => client.close());
  return client;
}

test('[CM1] /send off, on and inherit set the policy of the session, and each is the outcome of its runId in one line', async (t) => {
  const rules = [{ match: { channel: 'discord' }, action: 'deny' }];
  const world = await startWorld(t, { config: { session: { sendPolicy: { rules } } } });
  await world.say(A, 'SAY: hi');
  const asked = world.model.requests.length;
  const cases = [
    ['/send off', 'deny', OFF],
    ['/send: on', 'allow', /^Sending is on for this session, whatever/],
    ['/Send INHERIT', null, /^Sending is on for this session, as session\.sendPolicy\.default/],
  ] as const;
  for (const [text, policy, confirmed] of cases) {
    const outcome = await world.say(A, text);
    assert.deepEqual([outcome['status'], outcome['outcome']], ['ok', 'ok']);
    assert.match(String(outcome['reply']), confirmed);
    assert.doesNotMatch(String(outcome['reply']), /\n/);
    assert.equal(await policyOf(world), policy);
  }
  assert.equal(world.model.requests.length, asked, 'no model is asked');
  assert.deepEqual(outlineOf(await world.history(A)), ['user: SAY: hi', 'assistant: hi']);
  assert.deepEqual(await auditOf(world), [
    ['operator', A, { setting: 'inherit' }],
    ['operator', A, { setting: 'on' }],
    ['operator', A, { setting: 'off' }],
  ]);
});

test('[CM1] /send with another argument changes nothing and says what it takes', async (t) => {
  const world = await startWorld(t);
  await world.say(A, '/send off');
  for (const text of ['/send', '/send maybe', '/send: off please']) {
    const outcome = await world.say(A, text);
    assert.equal(outcome['reply'], 'Nothing was changed: /send takes on, off or inherit.');
    assert.equal(await policyOf(world), 'deny');
  }
  assert.equal((await auditOf(world)).length, 1);
});

test('[CM5] a command passes a denied session, and the webchat is told in spite of it', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: hi');
  const texts: string[] = [];
  world.client.on(({ event, payload }) => {
    const json = JSON.stringify(payload);
    if (event === 'chat' && json.includes('"state":"final"')) texts.push(json);
  });
  const off = await chatSend(world.client, '/send off');
  assert.equal(off['status'], 'started');
  await assert.rejects(chatSend(world.client, 'SAY: no'), /send blocked by session policy/);
  await assert.rejects(chatSend(world.client, 'now /send on'), /send blocked by session policy/);
  const again = await chatSend(world.client, '/send off');
  const on = await chatSend(world.client, '/send on');
  await world.say(A, 'SAY: back');
  await world.quiet();
  // what was told before has come in with the answer
  await world.client.request('health');
  const rows = await world.store.read((tx) => tx.deliveries.ofSession(A, 9));
  const told = new Map(rows.map(({ runId, state, channel }) => [runId, [state, channel]]));
  for (const { runId } of [off, again, on]) {
    assert.deepEqual(told.get(String(runId)), ['sent', 'webchat']);
    assert.equal(texts.filter((text) => text.includes(String(runId))).length, 1);
  }
  assert.equal(await policyOf(world), 'allow');
});

test('[CM5] the same key is the same command: it is carried out once, and other content is refused', async (t) => {
  const world = await startWorld(t);
  const once = { idempotencyKey: 'once' };
  const first = await chatSend(world.client, '/send off', once);
  await world.say(A, '/send on');
  const repeated = await chatSend(world.client, '/send off', once);
  assert.deepEqual(
    [repeated['runId'], repeated['status'], repeated['outcome']],
    [first['runId'], 'ok', 'ok'],
  );
  assert.equal(await policyOf(world), 'allow');
  const other = chatSend(world.client, '/send inherit', once);
  await assert.rejects(other, /this idempotencyKey was used for another message/);
  const plain = chatSend(world.client, 'SAY: hi', once);
  await assert.rejects(plain, /this idempotencyKey was used for another message/);
  await world.quiet();
  const rows = await world.store.read((tx) => tx.deliveries.ofSession(A, 9));
  assert.equal(rows.filter(({ runId }) => runId === first['runId']).length, 1);
});

test('[CM5] a command is no message: it sets no route, interrupts nothing, and is not the work that others wait for', async (t) => {
  const world = await startChatWorld(t);
  await world.write('keyed', { text: 'SAY: hi' });
  await world.quiet();
  const held = world.model.hold('SAY: long');
  const sent = await chatSend(world.client, 'SAY: long');
  await held.arrived();
  await world.store.write('put back', (tx) =>
    tx.sessions.update(A, { lastChannel: 'keyed', lastTo: 'p1' }),
  );
  const before = await world.store.read((tx) => tx.sessions.get(A));
  await world.say(A, '/send on');
  const after = await world.store.read((tx) => tx.sessions.get(A));
  assert.deepEqual(after, { ...before, sendPolicy: 'allow' });
  const { state } = (await world.client.request('runs.get', { runId: sent['runId'] })) as Json;
  assert.notEqual(state, 'aborted');
  const waiting = world.client.request('runs.wait', { sessionKeys: [A], timeoutMs: 20_000 });
  held.release();
  assert.match(JSON.stringify(await waiting), /"reply":"long"/);
});

test('[CM4, BR-065] who is no owner changes nothing: refused by name, in a denied session too, and written down', async (t) => {
  const world = await startWorld(t);
  const client = await stranger(t, world);
  const runs = () => world.store.read((tx) => tx.runs.countByState());
  const before = await runs();
  for (const text of ['/send off', '/send: on', '/send maybe']) {
    const refused = chatSend(client, text, { idempotencyKey: `k ${text}` });
    await assert.rejects(refused, {
      code: 'forbidden',
      message:
        'a command of the owner needs the scope operator.admin; nothing was changed, and no message was sent',
    });
  }
  assert.equal((await policyOf(world)) ?? null, null);
  assert.deepEqual(await runs(), before);
  await world.say(A, '/send off');
  const refused = chatSend(client, '/send on');
  await assert.rejects(refused, { code: 'forbidden', message: /operator\.admin/ });
  assert.equal(await policyOf(world), 'deny');
  assert.deepEqual(await auditOf(world), [
    ['operator', A, { setting: 'on', refused: true }],
    ['operator', A, { setting: 'off' }],
    ['operator', A, { setting: null, refused: true }],
    ['operator', A, { setting: 'on', refused: true }],
    ['operator', A, { setting: 'off', refused: true }],
  ]);
});

test('[CM4] the answer to an owner’s key is not told to somebody else', async (t) => {
  const world = await startWorld(t);
  const key = { idempotencyKey: 'of the owner' };
  await chatSend(world.client, '/send off', key);
  const client = await stranger(t, world);
  await assert.rejects(chatSend(client, '/send off', key), { code: 'forbidden' });
});

test('[CM2, BR-065] what a session sends, notes, spawns or announces is plain text, whoever it goes to', async (t) => {
  const world = await startWorld(t, {
    talk: true,
    config: { session: { agentToAgent: { maxPingPongTurns: 1 } } },
  });
  await world.say(B, 'SAY: /send off');
  assert.equal((await policyOf(world, B)) ?? null, null);
  for (const mode of ['run', 'note']) {
    const message = '/send off';
    await world.tool('sessions_send', { sessionKey: B, message, mode, timeoutSeconds: 20 });
  }
  const sent = call('sessions_send', { sessionKey: B, message: '/send off', timeoutSeconds: 20 });
  await world.say(A, `${sent}\nSAY: /send off`);
  await world.tool('sessions_spawn', { task: 'SAY: /send off', label: 'child' });
  await world.quiet();
  await world.say(B, 'SAY: done');
  const sessions = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
  assert.deepEqual(
    sessions.sessions.filter(({ sendPolicy }) => sendPolicy !== undefined),
    [],
  );
  const texts = outlineOf(await world.history(B)).filter((line) => line === 'user: /send off');
  assert.equal(texts.length, 3, 'each stands in the transcript as it was sent');
  assert.deepEqual(await auditOf(world), []);
});

test('[CM2] /send within a sentence, and any /send with commands.text off, is a message to the agent', async (t) => {
  const world = await startWorld(t, { config: { commands: { text: false } } });
  await world.say(A, '/send off');
  await world.say(A, 'SAY: you said /send off');
  assert.deepEqual(
    outlineOf(await world.history(A)).filter((line) => line.startsWith('user')),
    ['user: /send off', 'user: SAY: you said /send off'],
  );
  assert.equal((await policyOf(world)) ?? null, null);
});

test('[CM1] on the command line an owner’s /send does the same and prints the confirmation', async (t) => {
  const world = await startWorld(t);
  const env = { TRUNKLINE_STATE_DIR: world.gateway.stateDir };
  const run = await runCli(['agent', '--session', B, '--message', '/send off'], env);
  assert.equal(run.exitCode, 0);
  assert.match(run.out, OFF);
  assert.equal(await policyOf(world, B), 'deny');
  const back = await runCli(['agent', '--session', B, '--message', '/send on', '--deliver'], env);
  assert.notEqual(back.exitCode, 0, 'b has no chat to be told in');
  assert.equal(await policyOf(world, B), 'deny');
  await runCli(['agent', '--session', B, '--message', '/send inherit'], env);
  assert.equal((await policyOf(world, B)) ?? null, null);
});

const GROUP = 'agent:a:keyed:group:g1';
const writeIn = (world: ChatWorld, senderId: string, text: string, messageId?: string) =>
  world.write('keyed', {
    chatType: 'group',
    chatId: 'g1',
    senderId,
    text,
    ...(messageId === undefined ? {} : { messageId }),
  });

test('[CM3] in a chat commands.ownerAllowFrom names the owners; the chat is told, also when it is denied', async (t) => {
  const config = { commands: { ownerAllowFrom: ['keyed:boss', 4711] } };
  const world = await startChatWorld(t, { config });
  const first = await writeIn(world, 'boss', '/send off', 'm1');
  assert.ok(first.accepted && first.sessionKey === GROUP);
  assert.equal(await policyOf(world, GROUP), 'deny');
  const again = await writeIn(world, 'boss', '/send off', 'm1');
  assert.deepEqual(again, { ...first, isNew: false });
  await writeIn(world, 'guest', 'SAY: unheard');
  await writeIn(world, '4711', '/send');
  await world.quiet();
  const shown = world.chat.shown('g1');
  assert.equal(shown.length, 2);
  assert.match(String(shown[0]), OFF);
  assert.match(String(shown[1]), /^Nothing was changed/);
  assert.deepEqual(await auditOf(world), [['keyed:boss', GROUP, { setting: 'off' }]]);
});

const LISTS: [name: string, commands: Json][] = [
  ['no list', {}],
  ['a list with a wildcard', { ownerAllowFrom: ['*', 'keyed:*'] }],
  ['a list of others', { ownerAllowFrom: ['boss', 'plain:guest'] }],
];
for (const [name, commands] of LISTS) {
  test(`[CM4, BR-179] with ${name} a sender's /send is ignored: no change, no word, no turn, a line in the audit log`, async (t) => {
    const world = await startChatWorld(t, { config: { commands } });
    const answer = await writeIn(world, 'guest', '/send off');
    assert.equal(answer.accepted, false);
    assert.equal(!answer.accepted && answer.silent, true);
    await writeIn(world, 'guest', 'SAY: hi');
    await world.quiet();
    assert.equal((await policyOf(world, GROUP)) ?? null, null);
    assert.deepEqual(world.chat.shown('g1'), ['hi']);
    assert.deepEqual(outlineOf(await world.history(GROUP)), ['user: SAY: hi', 'assistant: hi']);
    assert.deepEqual(await auditOf(world), [
      ['keyed:guest', GROUP, { setting: 'off', refused: true }],
    ]);
  });
}

test('[CM4, BR-179] sessions.patch refuses lineage and protected fields by name, from a client and from a tool', async (t) => {
  const world = await startWorld(t, {
    config: { tools: { allow: ['*', 'sessions_wait', 'sessions_stop'] } },
  });
  await world.say(B, 'SAY: hi');
  const before = await world.store.read((tx) => tx.sessions.get(B));
  for (const field of ['spawnedBy', 'sandboxed', 'sessionId', 'transcriptPath']) {
    const patch = { key: B, label: 'taken', [field]: 'x' };
    const refused = world.client.request('sessions.patch', patch);
    await assert.rejects(refused, new RegExp(`sessions\\.patch: .*${field}`));
    await assert.rejects(world.tool('sessions_patch', patch), { code: 'unknown_name' });
    await assert.rejects(world.tool('sessions.patch', patch), { code: 'unknown_name' });
  }
  await world.say(A, `${call('sessions_patch', { key: B, spawnedBy: 'x' })}\nSAY: tried`);
  const after = await world.store.read((tx) => tx.sessions.get(B));
  assert.deepEqual(after, before);
});
