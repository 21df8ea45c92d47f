/** Texts on their way to a chat that fails before, during and after it shows them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startChatWorld, type ChatWorld } from './helpers/chat-world.ts';
import type { Failure } from './helpers/test-chat.ts';
import { TEST_CHANNELS, type TestChannel } from './helpers/test-chat-adapters.ts';

const FAILURES: Failure[] = [
  'refuse',
  'refuse for good',
  'lose',
  'lose answer',
  'fail after',
  'hang',
];

/** What becomes of a text whose first hand-over goes wrong this way. */
function expected(channel: TestChannel, how: Failure): { state: string; shown: number } {
  if (how === 'refuse for good') return { state: 'failed', shown: 0 };
  if (how === 'refuse' || channel !== 'plain') return { state: 'sent', shown: 1 };
  return { state: 'unknown', shown: how === 'lose' ? 0 : 1 };
}

describe('a hand-over that goes wrong', () => {
  test('[DL2, DL5] each way on each kind of channel: shown once at most, and what is not known is said', async (t) => {
    const world = await startChatWorld(t, { channel: { callLimitMs: 3000 } });
    const { chat } = world;
    const cases = TEST_CHANNELS.flatMap((channel) =>
      FAILURES.map((how) => ({
        channel,
        how,
        text: `${how} on ${channel}`,
        to: `${channel} ${how}`,
      })),
    );
    for (const { text, how } of cases) chat.fail(text, how);
    await Promise.all(cases.map(({ channel, to, text }) => world.tell(channel, to, text)));
    await world.quiet();
    for (const { channel, how, text, to } of cases) {
      const { state, shown } = expected(channel, how);
      const [row] = await world.parts(text);
      assert.equal(row?.state, state, `${text}: ${row?.reason}`);
      if (how === 'hang' && channel === 'plain')
        assert.match(String(row?.reason), /^the channel did not answer within 3 s; it may be/);
      assert.deepEqual(chat.shown(to), Array.from({ length: shown }).fill(text), text);
      const keys = chat.handed.filter((part) => part.text === text);
      assert.equal(new Set(keys.map(({ idempotencyKey }) => idempotencyKey)).size, 1, text);
      assert.equal(keys.length, row?.handovers, text);
    }
  });

  test('[DL5, BR-040] an answer that comes after the limit is no reason to show the text again', async (t) => {
    const world = await startChatWorld(t, { channel: { callLimitMs: 300 } });
    for (const channel of ['plain', 'readable', 'keyed']) {
      const held = world.chat.hold(`done on ${channel}`, true);
      await world.reply(channel, 'c1', `SAY: hi on ${channel}`);
      await world.tool('sessions_spawn', { task: `SAY: done on ${channel}` });
      await held.arrived(channel === 'keyed' ? 2 : 1);
      held.release();
      await world.quiet();
    }
    const announces = world.chat.shown('c1').filter((text) => text.startsWith('Status'));
    assert.deepEqual(
      announces.map((text) => /Result: done on (\w+)/.exec(text)?.[1]),
      ['plain', 'readable', 'keyed'],
    );
  });

  test('[DL5] a look that fails is tried again, one that cannot say leaves it to the desk', async (t) => {
    const world = await startChatWorld(t);
    world.chat.fail('one', 'lose answer');
    world.chat.looks.push('fails');
    assert.equal((await world.tell('readable', 'c1', 'one'))['state'], 'queued');
    await world.quiet();
    assert.deepEqual(await world.statesOf('one'), ['sent']);
    world.chat.fail('two', 'lose answer');
    world.chat.looks.push('unknown');
    assert.equal((await world.tell('readable', 'c1', 'two'))['state'], 'unknown');
    assert.deepEqual(world.chat.shown('c1'), ['one', 'two']);
  });

  test('[DL5] where the window of a channel is over, it is not handed over again', async (t) => {
    const channel = { callLimitMs: 300, idempotencyWindowMs: 900 };
    const world = await startChatWorld(t, { channel });
    world.chat.fail('one', 'lose');
    assert.equal((await world.tell('keyed', 'c1', 'one'))['state'], 'unknown');
    assert.equal(world.chat.handed.length, 1);
  });

  test('[DL5] a stop does not wait for a channel that never answers, and tells no lie about it', async (t) => {
    const world = await startChatWorld(t, { channel: { callLimitMs: 60_000 } });
    world.chat.fail('one', 'hang');
    const held = world.chat.hold('one');
    const telling = world.tell('plain', 'c1', 'one').catch(() => {});
    await held.arrived();
    held.release();
    const store = world.store;
    const rows: string[] = [];
    store.onSignal((signal) => void (signal.type === 'delivery' && rows.push(signal.deliveryId)));
    await world.gateway.stop();
    await telling;
    assert.deepEqual(rows, ['send:operator:one:0']);
  });
});

test('[DL1, BR-115] an announce that is longer than the channel takes arrives whole, in order, in parts', async (t) => {
  const world = await startChatWorld(t, { channel: { maxPartLength: 2000 } });
  await world.reply('plain', 'c1', 'SAY: hi');
  const words = Array.from({ length: 2000 }, (_, at) => `w${String(at).padStart(4, '0')}`);
  const result = words.join(' ');
  await world.tool('sessions_spawn', { task: `SAY: ${result}` });
  await world.quiet();
  const [, ...parts] = world.chat.shown('c1');
  assert.ok(parts.length >= 6 && parts.every(({ length }) => length <= 2000));
  assert.match(parts[0] ?? '', /^Status: success\nResult: w0000 /);
  assert.deepEqual(parts.join(' ').match(/\bw\d{4}\b/g), words);
  assert.match(parts.at(-1) ?? '', /Stats: runtime /);
});

describe('the order of a chat', () => {
  const letters = Array.from({ length: 12 }, (_, at) => `${at}`.padStart(2, '0').repeat(100));

  test('[DL7, BR-115] parts and texts arrive in order while the chat fails again and again, and no other chat waits', async (t) => {
    const world = await startChatWorld(t, { channel: { maxPartLength: 250 } });
    const { chat } = world;
    const long = letters.join('\n');
    chat.fail(letters[3]!, 'refuse');
    chat.fail(letters[7]!, 'lose');
    chat.fail('next', 'lose answer');
    const held = chat.hold(letters[5]!);
    const telling = [
      world.tell('keyed', 'c1', long, { idempotencyKey: 'long' }),
      world.tell('keyed', 'c1', 'next'),
    ];
    await held.arrived();
    assert.equal((await world.tell('keyed', 'c2', 'elsewhere'))['state'], 'sent');
    assert.deepEqual(chat.shown('c1'), letters.slice(0, 5));
    held.release();
    await Promise.all(telling);
    await world.quiet();
    assert.deepEqual(chat.shown('c1'), [...letters, 'next']);
  });

  test('[DL7] a service that hangs in a hundred chats holds up no other chat', async (t) => {
    const world = await startChatWorld(t, { channel: { callLimitMs: 60_000 } });
    const held = world.chat.hold('hung');
    const telling = Array.from({ length: 100 }, (_, at) =>
      world.tell('plain', `hung ${at}`, `hung ${at}`),
    );
    await held.arrived(100);
    assert.equal((await world.tell('keyed', 'c1', 'through'))['state'], 'sent');
    held.release();
    await Promise.all(telling);
    await world.quiet();
    const rows = await world.store.read((tx) => tx.deliveries.byState('sent', 200));
    assert.equal(rows.length, 101);
  });

  test('[DL7] a part that fails holds the rest of its text, not the next text; the desk sends both on, in order', async (t) => {
    const world = await startChatWorld(t, { channel: { maxPartLength: 250 } });
    const { chat } = world;
    const parts = letters.slice(0, 4);
    chat.fail(letters[1]!, 'refuse for good');
    const sent = await world.tell('plain', 'c1', parts.join('\n'), { idempotencyKey: 'long' });
    assert.deepEqual([sent['state'], (sent['deliveryIds'] as unknown[]).length], ['failed', 4]);
    await world.tell('plain', 'c1', 'next');
    assert.deepEqual(chat.shown('c1'), [letters[0], 'next']);
    assert.deepEqual(await world.statesOf('long'), ['sent', 'failed', 'failed', 'failed']);
    const held = await world.parts('long');
    assert.match(String(held[2]?.reason), /^not sent: part 2 of the same text failed/);
    const answer = await world.client.request('deliveries.retry', {
      deliveryId: held[1]?.deliveryId,
    });
    assert.deepEqual(
      answer['deliveryIds'],
      held.slice(1).map(({ deliveryId }) => deliveryId),
    );
    await world.quiet();
    assert.deepEqual(chat.shown('c1'), [letters[0], 'next', ...letters.slice(1, 4)]);
  });

  test('[DL7] what is unknown holds nothing back', async (t) => {
    const world = await startChatWorld(t, { channel: { maxPartLength: 250 } });
    world.chat.fail(letters[1]!, 'lose answer');
    const text = letters.slice(0, 3).join('\n');
    const sent = await world.tell('plain', 'c1', text, { idempotencyKey: 'long' });
    assert.equal(sent['state'], 'unknown');
    assert.deepEqual(world.chat.shown('c1'), letters.slice(0, 3));
  });
});

test('[DL2, BR-036] an announce of an exchange whose first hand-over breaks off arrives once', async (t) => {
  for (const how of ['refuse', 'lose', 'lose answer'] as const) {
    const world: ChatWorld = await startChatWorld(t, { talk: true });
    await world.reply('keyed', 'group', 'SAY: here', 'agent:b:main');
    world.chat.fail('', how);
    await world.tool('sessions_spawn', { task: 'SAY: x' });
    await world.quiet();
    const message = 'SAY: done';
    await world.say(
      'agent:a:main',
      `TOOL: sessions_send ${JSON.stringify({ sessionKey: 'agent:b:main', message })}\nSAY: ok`,
    );
    await world.quiet();
    const shown = world.chat.shown('group');
    assert.equal(new Set(shown).size, shown.length, how);
    assert.equal(shown.length, 2, shown.join('\n'));
  }
});
