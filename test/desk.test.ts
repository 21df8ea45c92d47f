/** The desk, and `send`: what an operator does about texts on their way to a chat. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectGateway } from '../src/client/gateway-client.ts';
import { runCli } from './helpers/captured-io.ts';
import { type ChatWorld, startChatWorld } from './helpers/chat-world.ts';

type Json = Record<string, unknown>;
interface Page {
  deliveries: Json[];
  hasMore: boolean;
  nextCursor?: string;
}
const A = 'agent:a:main';

const list = (world: ChatWorld, query: Json = {}): Promise<Page> =>
  world.client.request('deliveries.list', query) as Promise<unknown> as Promise<Page>;

const idsOf = ({ deliveries }: Page): unknown[] => deliveries.map(({ deliveryId }) => deliveryId);

const auditOf = (world: ChatWorld, subjectId: string) =>
  world.store.read((tx) =>
    tx.audit.page({ of: { subjectKind: 'delivery', subjectId }, cursor: undefined, limit: 9 }),
  );

test('[DL8] the desk shows what is stuck, the newest first, with the beginning of the text and why', async (t) => {
  const world = await startChatWorld(t);
  const long = `unknown ${'x'.repeat(3000)}`;
  world.chat.fail('failed', 'refuse for good');
  world.chat.fail('unknown', 'lose answer');
  world.chat.fail('retrying', 'refuse', 'refuse', 'refuse');
  await world.tell('plain', 'c1', 'sent');
  await world.tell('plain', 'c1', 'failed');
  await world.tell('plain', 'c2', long, { idempotencyKey: 'unknown', threadId: '7' });
  void world.tell('plain', 'c3', 'retrying').catch(() => {});
  await untilTried(world, 'retrying');
  const page = await list(world);
  assert.deepEqual(
    idsOf(page),
    ['retrying', 'unknown', 'failed'].map((key) => `send:operator:${key}:0`),
  );
  const [retrying, unknown, failed] = page.deliveries;
  assert.deepEqual(
    [retrying?.['state'], unknown?.['state'], failed?.['state']],
    ['queued', 'unknown', 'failed'],
  );
  assert.deepEqual([unknown?.['mayBeShown'], failed?.['mayBeShown']], [true, false]);
  assert.match(String(failed?.['reason']), /^the chat answered 400/);
  assert.deepEqual(
    [unknown?.['text'], unknown?.['textLength'], unknown?.['to'], unknown?.['threadId']],
    [long.slice(0, 500), long.length, 'c2', '7'],
  );
  const { routeKey } = failed ?? {};
  assert.deepEqual(idsOf(await list(world, { routeKey })), [
    'send:operator:failed:0',
    'send:operator:sent:0',
  ]);
  assert.deepEqual(idsOf(await list(world, { routeKey, states: ['sent'] })), [
    'send:operator:sent:0',
  ]);
  assert.deepEqual(idsOf(await list(world, { states: ['retrying'] })), [
    'send:operator:retrying:0',
  ]);
});

test('[DL8] pages show each delivery once, of a state, of a session and of a chat', async (t) => {
  const world = await startChatWorld(t, { channel: { maxPartLength: 64 } });
  const text = Array.from({ length: 7 }, (_, at) => `${at}`.repeat(60)).join('\n');
  world.chat.fail('0000', 'refuse for good');
  await world.tell('plain', 'c1', text, { idempotencyKey: 'long' });
  await world.say(A, 'SAY: one');
  await world.say(A, 'SAY: two');
  const { routeKey } = (await list(world, { limit: 1 })).deliveries[0] ?? {};
  for (const query of [{ states: ['failed'] }, { routeKey }, {}]) {
    const seen: unknown[] = [];
    for (let cursor: string | undefined, more = true; more;) {
      const page = await list(world, {
        ...query,
        limit: 3,
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...idsOf(page));
      cursor = page.nextCursor;
      more = page.hasMore;
    }
    assert.deepEqual(
      seen.map(String).toSorted((a, b) => a.localeCompare(b)),
      [0, 1, 2, 3, 4, 5, 6].map((at) => `send:operator:long:${at}`),
    );
  }
  const mine = await list(world, { sessionKey: 'main' });
  assert.deepEqual(
    mine.deliveries.map(({ text: shown, state }) => [shown, state]),
    [
      ['two', 'sent'],
      ['one', 'sent'],
    ],
  );
  const { nextCursor } = await list(world, { routeKey, limit: 1 });
  await assert.rejects(list(world, { cursor: nextCursor }), /it belongs to another list/);
  await assert.rejects(list(world, { sessionKey: 'agent:a:nobody' }), { code: 'not_found' });
  await assert.rejects(list(world, { states: ['stuck'] }), /deliveries.list: states/);
});

test('[DL6, DL9, BR-084] a failed text is handed over again, dropped ones stay listed, and both are in the audit log', async (t) => {
  const world = await startChatWorld(t);
  const { client, chat } = world;
  chat.fail('one', 'refuse for good', 'refuse for good');
  await world.tell('plain', 'c1', 'one');
  const deliveryId = 'send:operator:one:0';
  const retried = await client.request('deliveries.retry', { deliveryId });
  assert.deepEqual(retried, {
    ok: true,
    deliveryId,
    from: 'failed',
    state: 'queued',
    deliveryIds: [deliveryId],
  });
  await world.quiet();
  assert.deepEqual(await world.statesOf('one'), ['failed']);
  await client.request('deliveries.retry', { deliveryId });
  await world.quiet();
  assert.deepEqual([chat.shown('c1'), await world.statesOf('one')], [['one'], ['sent']]);
  await assert.rejects(
    client.request('deliveries.retry', { deliveryId }),
    /is sent and cannot be tried again/,
  );
  await assert.rejects(client.request('deliveries.drop', { deliveryId: 'x' }), {
    code: 'not_found',
  });

  chat.fail('two', 'refuse for good');
  await world.tell('plain', 'c1', 'two');
  const dropped = await client.request('deliveries.drop', { deliveryId: 'send:operator:two:0' });
  assert.deepEqual([dropped['from'], dropped['state']], ['failed', 'dropped']);
  assert.deepEqual(idsOf(await list(world)), []);
  assert.deepEqual(idsOf(await list(world, { states: ['dropped'] })), ['send:operator:two:0']);
  const lines = await auditOf(world, deliveryId);
  assert.deepEqual(
    lines.map(({ actor, action, detailJson }) => [
      actor,
      action,
      (JSON.parse(String(detailJson)) as Json)['from'],
    ]),
    [
      ['operator', 'deliveries.retry', 'failed'],
      ['operator', 'deliveries.retry', 'failed'],
    ],
  );
  assert.ok(!JSON.stringify(await auditOf(world, 'send:operator:two:0')).includes('"two"'));
});

test('[DL9] an unknown text is shown twice only when the desk asks for it, and it says so', async (t) => {
  const world = await startChatWorld(t);
  world.chat.fail('one', 'lose answer');
  await world.tell('plain', 'c1', 'one');
  const deliveryId = 'send:operator:one:0';
  const answer = await world.client.request('deliveries.retry', { deliveryId });
  assert.equal(answer['mayShowTwice'], true);
  assert.match(String(answer['note']), /may be shown twice/);
  await world.quiet();
  assert.deepEqual(world.chat.shown('c1'), ['one', 'one']);
  const [line] = await auditOf(world, deliveryId);
  assert.match(String(line?.detailJson), /"mayBeShown":true/);
});

test('[DL6] a text that waits for its next attempt is tried now, or dropped; one under way is left alone', async (t) => {
  const world = await startChatWorld(t);
  const { client, chat } = world;
  chat.fail('one', 'refuse', 'refuse', 'refuse');
  const held = chat.hold('held');
  void world.tell('plain', 'c1', 'one').catch(() => {});
  void world.tell('plain', 'c2', 'held').catch(() => {});
  const deliveryId = 'send:operator:one:0';
  for (const handovers of [2, 3, 4]) {
    await untilTried(world, 'one');
    await client.request('deliveries.retry', { deliveryId });
    await untilHanded(world, 'one', handovers);
  }
  await world.client.request('health');
  await held.arrived();
  const busy = { deliveryId: 'send:operator:held:0' };
  await assert.rejects(
    client.request('deliveries.drop', busy),
    /it is being handed over; look again/,
  );
  await assert.rejects(
    client.request('deliveries.retry', busy),
    /it is being handed over; look again/,
  );
  chat.fail('two', 'refuse');
  void world.tell('plain', 'c3', 'two').catch(() => {});
  await untilTried(world, 'two');
  await client.request('deliveries.drop', { deliveryId: 'send:operator:two:0' });
  held.release();
  await world.quiet();
  assert.deepEqual([chat.shown('c1'), chat.shown('c3')], [['one'], []]);
});

test('[DL8, DL9] `trunkline deliveries` lists, retries and drops; changes need operator.admin', async (t) => {
  const world = await startChatWorld(t);
  world.chat.fail('one', 'lose answer');
  world.chat.fail('two', 'refuse for good');
  await world.tell('plain', 'c1', 'one');
  await world.tell('plain', 'c1', 'two');
  const { url, token = '' } = world.gateway;
  const cli = (...args: string[]) =>
    runCli(['deliveries', ...args, '--url', url, '--token', token]);
  const lines = (await cli('list')).out.split('\n');
  assert.match(lines[0] ?? '', /^STATE +CHANNEL +TO +TRIES +AGE +REASON +DELIVERY$/);
  assert.match(lines[1] ?? '', /^failed +plain +c1 .*send:operator:two:0$/);
  const retried = await cli('retry', 'send:operator:one:0');
  assert.equal(retried.out, 'queued: send:operator:one:0');
  assert.match(retried.notes, /may be shown twice/);
  assert.equal((await cli('drop', 'send:operator:two:0')).out, 'dropped: send:operator:two:0');
  await world.quiet();
  assert.equal((await cli('list')).notes, 'no deliveries');
  const page = JSON.parse((await cli('list', '--state', 'dropped', '--json')).out) as Page;
  assert.deepEqual(idsOf(page), ['send:operator:two:0']);
  const reader = await connectGateway({ url, token, scopes: ['operator.write'] });
  t.after(() => reader.close());
  const retry = reader.request('deliveries.retry', { deliveryId: 'send:operator:two:0' });
  await assert.rejects(retry, /deliveries.retry needs the scope operator.admin/);
  await reader.request('deliveries.list');
});

test('[DL10] `send` tells the id that the chat gave it, and is one text for good under its key', async (t) => {
  const world = await startChatWorld(t);
  const sent = await world.tell('keyed', 'c1', 'hello NO_REPLY there', { idempotencyKey: 'k' });
  assert.deepEqual(sent, {
    channel: 'keyed',
    state: 'sent',
    deliveryIds: ['send:operator:k:0'],
    messageId: 'keyed message send:operator:k:0',
  });
  const again = await world.tell('keyed', 'c1', 'hello NO_REPLY there', { idempotencyKey: 'k' });
  assert.deepEqual(again, sent);
  assert.deepEqual(world.chat.shown('c1'), ['hello there']);
  for (const other of [
    world.tell('keyed', 'c1', 'other', { idempotencyKey: 'k' }),
    world.tell('keyed', 'c2', 'hello NO_REPLY there', { idempotencyKey: 'k' }),
  ])
    await assert.rejects(other, { code: 'key_conflict' });
  const toSession = await world.client.request('send', {
    to: 'main',
    message: 'hi',
    idempotencyKey: 'w',
  });
  assert.deepEqual([toSession['channel'], toSession['state']], ['webchat', 'sent']);
});

test('[DL10] `send` refuses what it cannot do, by name, and puts nothing into the outbox', async (t) => {
  const world = await startChatWorld(t);
  const cases: [Json, RegExp][] = [
    [{ channel: 'pigeon' }, /send: no channel pigeon is set up here/],
    [{ message: ' `NO_REPLY` ' }, /send: message: nothing of it would be shown/],
    [{ mediaUrl: 'https://x' }, /send: mediaUrl: not supported yet/],
    [{ channel: undefined, to: 'agent:a:nobody' }, /not found/],
    [{ text: 'x' }, /send: unknown parameter "text"/],
    [{ idempotencyKey: undefined }, /send needs idempotencyKey/],
  ];
  for (const [given, text] of cases) {
    const params = { to: 'c1', channel: 'plain', message: 'x', idempotencyKey: 'k', ...given };
    const known = Object.fromEntries(
      Object.entries(params).filter(([, value]) => value !== undefined),
    );
    await assert.rejects(world.client.request('send', known), text);
  }
  assert.deepEqual(idsOf(await list(world, { states: ['queued', 'sent', 'failed'] })), []);
});

test('[DL10] `send` is judged by the session whose chat it is, else by the rules for such a chat', async (t) => {
  const rules = [{ match: { channel: 'plain', chatType: 'group' }, action: 'deny' }];
  const world = await startChatWorld(t, { config: { session: { sendPolicy: { rules } } } });
  await assert.rejects(
    world.tell('plain', 'c1', 'one'),
    /send blocked by session policy \(session.sendPolicy.rules\[0\]\)/,
  );
  assert.equal((await world.tell('keyed', 'c1', 'one'))['state'], 'sent');
  // A person wrote from there: it is a direct chat, and the rule is about groups.
  await world.write('plain', { chatId: 'c1' });
  await world.quiet();
  assert.equal((await world.tell('plain', 'c1', 'two'))['state'], 'sent');
  await world.client.request('sessions.patch', { key: A, sendPolicy: 'deny' });
  await assert.rejects(
    world.tell('plain', 'c1', 'three'),
    /blocked by session policy \(session override\)/,
  );
  assert.deepEqual(world.chat.shown('c1').toSorted(), ['hi', 'one', 'two']);
});

test('[DL7] what a failed part holds back is not sent on alone: the answer names the part to retry', async (t) => {
  const world = await startChatWorld(t, { channel: { maxPartLength: 64 } });
  const text = ['a', 'b', 'c'].map((each) => each.repeat(60)).join('\n');
  world.chat.fail('bbb', 'refuse for good');
  await world.tell('plain', 'c1', text, { idempotencyKey: 'long' });
  const refused = world.client.request('deliveries.retry', { deliveryId: 'send:operator:long:2' });
  await assert.rejects(
    refused,
    /waits for part 2 of the same text, which failed: retry or drop send:operator:long:1/,
  );
  await world.quiet();
  assert.deepEqual(world.chat.shown('c1'), ['a'.repeat(60)]);
  // without the part in front the hole is what the operator asked for
  await world.client.request('deliveries.drop', { deliveryId: 'send:operator:long:2' });
  await world.client.request('deliveries.retry', { deliveryId: 'send:operator:long:1' });
  await world.quiet();
  assert.deepEqual(await world.statesOf('long'), ['sent', 'sent', 'dropped']);
});

test('[DL10] `send` asks the session of the chat itself, however many threads the chat has', async (t) => {
  const world = await startChatWorld(t);
  for (let thread = 0; thread < 60; thread += 1) {
    await world.write('plain', { chatType: 'group', chatId: 'g1', threadId: `t${thread}` });
  }
  await world.write('plain', { chatType: 'group', chatId: 'g1' });
  await world.quiet();
  await world.client.request('sessions.patch', {
    key: 'agent:a:plain:group:g1',
    sendPolicy: 'deny',
  });
  await assert.rejects(world.tell('plain', 'g1', 'one'), /blocked by session policy/);
  assert.equal((await world.tell('plain', 'g1', 'two', { threadId: 't59' }))['state'], 'sent');
});

test('[DL10, AR3] `send` to the webchat of a session that is archived or deleted says so', async (t) => {
  const world = await startChatWorld(t);
  await world.write('plain', { chatType: 'group', chatId: 'g1' });
  await world.quiet();
  const to = 'agent:a:plain:group:g1';
  await world.client.request('sessions.delete', { key: to });
  const sent = world.client.request('send', { to, message: 'hi', idempotencyKey: 'k' });
  await assert.rejects(sent, /agent:a:plain:group:g1 is deleted/);
  assert.deepEqual(await world.statesOf('k'), []);
  // the chat of the service is still there
  assert.equal((await world.tell('plain', 'g1', 'hi'))['state'], 'sent');
});

/** Resolves when a text has been tried and waits for its next attempt. */
async function untilTried(world: ChatWorld, key: string): Promise<void> {
  await until(world, async () => {
    const [part] = await world.parts(key);
    return part?.state === 'queued' && part.attempts > 0;
  });
}

async function untilHanded(world: ChatWorld, key: string, handovers: number): Promise<void> {
  await until(world, async () => ((await world.parts(key))[0]?.handovers ?? 0) >= handovers);
}

/** Looks at the rows again and again: a part that waits tells nobody. */
async function until(world: ChatWorld, isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await world.client.request('health');
}
