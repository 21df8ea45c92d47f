/** What people write in a chat, and what may never get into one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startChatWorld } from './helpers/chat-world.ts';
import { call, outlineOf } from './helpers/test-world.ts';

const A = 'agent:a:main';
const B = 'agent:b:main';
const GROUP = 'agent:a:plain:group:g1';

test('[CH6] a person’s message runs in the session of its chat, and the reply goes back there', async (t) => {
  const world = await startChatWorld(t);
  const direct = await world.write('plain', { chatId: 'p1', text: 'SAY: direct' });
  const group = await world.write('plain', { chatType: 'group', chatId: 'g1', text: 'SAY: group' });
  const thread = await world.write('keyed', {
    chatType: 'channel',
    chatId: 'c1',
    threadId: '7',
    text: 'SAY: thread',
  });
  await world.quiet();
  assert.deepEqual(
    [direct, group, thread].map((answer) => answer.accepted && answer.sessionKey),
    [A, GROUP, 'agent:a:keyed:channel:c1:thread:7'],
  );
  assert.deepEqual(
    world.chat.handed
      .map(({ to, threadId, text }) => [to, threadId, text])
      .toSorted(([a], [b]) => String(a).localeCompare(String(b))),
    [
      ['c1', '7', 'thread'],
      ['g1', null, 'group'],
      ['p1', null, 'direct'],
    ],
  );
  assert.deepEqual(outlineOf(await world.history(GROUP)), ['user: SAY: group', 'assistant: group']);
  const session = await world.store.read((tx) => tx.sessions.get(A));
  assert.deepEqual([session?.lastChannel, session?.lastTo], ['plain', 'p1']);
});

test('[CH7] a message of a chat service is taken once, by its id', async (t) => {
  const world = await startChatWorld(t);
  const first = await world.write('plain', { messageId: 'm', text: 'SAY: once' });
  const again = await world.write('plain', { messageId: 'm', text: 'SAY: once' });
  assert.ok(first.accepted && again.accepted);
  assert.deepEqual([first.isNew, again.isNew, again.runId], [true, false, first.runId]);
  const other = await world.write('plain', { messageId: 'm', text: 'SAY: other' });
  assert.deepEqual(other, {
    accepted: false,
    error: 'another text of this messageId was accepted before',
  });
  const elsewhere = await world.write('plain', { messageId: 'm', chatId: 'p2', text: 'SAY: once' });
  assert.ok(elsewhere.accepted && elsewhere.isNew);
  await world.quiet();
  assert.deepEqual(world.chat.shown('p1'), ['once']);
});

test('[CH7] what cannot be a message is refused with a reason, and leaves nothing', async (t) => {
  const world = await startChatWorld(t);
  const before = await world.store.read((tx) => tx.sessions.count());
  for (const message of [
    { text: ' ' },
    { text: 'x'.repeat(1_000_001) },
    { chatId: '' },
    { messageId: 'm'.repeat(513) },
    { chatId: 'c'.repeat(513) },
    { accountId: 'a'.repeat(513) },
    { threadId: 't'.repeat(513) },
    { chatType: 'group', chatId: 'a\u0000b' },
  ] as const) {
    const answer = await world.write('plain', message);
    assert.equal(answer.accepted, false);
  }
  assert.equal(await world.store.read((tx) => tx.sessions.count()), before);
});

test('[CH8, BR-126] a denied chat is heard, and nothing is said to it; chat.send to it is refused', async (t) => {
  const rules = [{ match: { channel: 'plain', chatType: 'group' }, action: 'deny' }];
  const world = await startChatWorld(t, { config: { session: { sendPolicy: { rules } } } });
  const answer = await world.write('plain', {
    chatType: 'group',
    chatId: 'g1',
    text: 'SAY: heard',
  });
  assert.ok(answer.accepted);
  await world.quiet();
  assert.deepEqual(outlineOf(await world.history(GROUP)), ['user: SAY: heard', 'assistant: heard']);
  assert.deepEqual(world.chat.handed, []);
  const rows = await world.store.read((tx) => tx.deliveries.ofSession(GROUP, 9));
  assert.deepEqual(
    rows.map(({ state, reason, text }) => [state, reason, text]),
    [['suppressed', 'send_policy', 'heard']],
  );
  const refused = world.client.request('chat.send', {
    sessionKey: GROUP,
    message: 'x',
    idempotencyKey: 'k',
  });
  await assert.rejects(refused, /^GatewayError: send blocked by session policy/);
});

test('[CH8, BR-127] a stopped run, a failed one, a child and an exchange say nothing to a denied chat', async (t) => {
  const world = await startChatWorld(t, { talk: true });
  const say = (text: string, messageId: string) =>
    world.write('keyed', { chatType: 'group', chatId: 'g1', messageId, text });
  await say('SAY: here', 'm1');
  await world.quiet();
  const key = 'agent:a:keyed:group:g1';
  await world.client.request('sessions.patch', { key, sendPolicy: 'deny' });
  await say('FAIL: 400', 'm2');
  await say(`${call('sessions_spawn', { task: 'SAY: child' })}\nSAY: spawned`, 'm3');
  await say(`${call('sessions_send', { sessionKey: B, message: 'SAY: pong' })}\nSAY: asked`, 'm4');
  await world.quiet();
  const held = world.model.hold('never heard');
  await say('SAY: never heard', 'm5');
  await held.arrived();
  await world.client.request('chat.abort', { sessionKey: key });
  held.release();
  await world.quiet();
  assert.deepEqual(world.chat.shown('g1'), ['here']);
});

/** Words of the gateway that only a model is told. */
const INTERNAL = [
  /Agent-to-agent/,
  /You are a sub-agent/,
  /inter.?session/i,
  /workspace are/,
  /\[(?:from|message|context|sub-?agent)/i,
  /(?<![\p{L}\p{N}_])(?:REPLY_SKIP|ANNOUNCE_SKIP|NO_REPLY)(?![\p{L}\p{N}_])/u,
  /the task nobody may read/,
];

test('[DL11, SW2, BR-198] replies, announces, exchanges, errors and notices show a chat no prompt, context or silence word', async (t) => {
  const world = await startChatWorld(t, {
    talk: true,
    config: { session: { agentToAgent: { maxPingPongTurns: 1 } } },
  });
  await world.reply('keyed', 'b chat', 'SAY: b is here', B);
  const texts = [
    'SAY: plain NO_REPLY reply `ANNOUNCE_SKIP` done',
    'SAY: NO_REPLY',
    'the task nobody may read\nFAIL: 400 refused',
    `${call('sessions_spawn', { task: 'SAY: child says REPLY_SKIP this' })}\nSAY: spawned`,
    `${call('sessions_spawn', { task: 'the task nobody may read\nFAIL: 400 refused' })}\nSAY: spawned`,
    `${call('sessions_send', { sessionKey: B, message: 'SAY: pong' })}\nSAY: asked`,
    `${call('sessions_send', { sessionKey: 'nobody', message: 'SAY: pong' })}\nSAY: refused`,
  ];
  for (const [at, text] of texts.entries()) {
    await world.write('keyed', { messageId: `m${at}`, text });
    await world.quiet();
  }
  const shown = [...world.chat.shown('p1'), ...world.chat.shown('b chat')];
  assert.ok(shown.length >= 8, shown.join('\n---\n'));
  for (const text of shown) {
    for (const word of INTERNAL) assert.doesNotMatch(text, word);
    assert.notEqual(text.trim(), '');
  }
  const rows = await world.store.read((tx) => tx.deliveries.byState('sent', 100));
  for (const { text } of rows) for (const word of INTERNAL) assert.doesNotMatch(text, word);
});
