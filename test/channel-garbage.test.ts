/** Channels that break their word: what they answer is no answer, and each text still comes to an end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelAdapter } from '../src/channels/channel.ts';
import { startWorld } from './helpers/test-world.ts';

const GARBAGE: [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['a word', 'sent'],
  ['an unknown status', { status: 'delivered' }],
  ['the name of a prototype', { status: 'constructor' }],
  ['a failure without a reason', { status: 'failed' }],
  ['a reason that is none', { status: 'retry', reason: { token: 'SECRET' } }],
  ['an id that is none', { status: 'sent', messageId: { id: 1 } }],
  ['an id without an end', { status: 'sent', messageId: 'x'.repeat(1_000_000) }],
];

test('[DL2, DL3] whatever a channel answers, a text is handed over once and what is not known is said', async (t) => {
  let answer: unknown;
  let handed = 0;
  const odd: ChannelAdapter = {
    id: 'odd',
    idempotent: false,
    maxPartLength: 1000,
    send: () => {
      handed += 1;
      return Promise.resolve(answer) as ReturnType<ChannelAdapter['send']>;
    },
  };
  const world = await startWorld(t, { channels: [odd] });
  for (const [name, garbage] of GARBAGE) {
    answer = garbage;
    handed = 0;
    const sent = await world.client.request('send', {
      channel: 'odd',
      to: name,
      message: 'hi',
      idempotencyKey: name,
    });
    const [part] = await world.store.read((tx) => tx.deliveries.ofText(`send:operator:${name}`));
    assert.equal(handed, 1, name);
    const hasId = name.startsWith('an id');
    assert.equal(sent['state'], hasId ? 'sent' : 'unknown', name);
    assert.ok((part?.messageId ?? '').length <= 1000, name);
    if (!hasId) assert.match(String(part?.reason), /the channel .*; it may be in the chat/, name);
    assert.ok(!String(part?.reason).includes('SECRET'));
  }
});

test('[DL3, DL5] a look that answers nonsense leaves the text to the desk', async (t) => {
  let looks = 0;
  const odd: ChannelAdapter = {
    id: 'odd',
    idempotent: false,
    maxPartLength: 1000,
    send: () => Promise.reject(new Error('broke off')),
    readBack: () => {
      looks += 1;
      return Promise.resolve('perhaps') as unknown as ReturnType<
        NonNullable<ChannelAdapter['readBack']>
      >;
    },
  };
  const world = await startWorld(t, { channels: [odd], clock: 'movable' });
  const sending = world.client.request('send', {
    channel: 'odd',
    to: 'x',
    message: 'hi',
    idempotencyKey: 'k',
  });
  const stateOf = () =>
    world.store.read(async (tx) => (await tx.deliveries.get('send:operator:k:0'))?.reason ?? null);
  while ((await stateOf()) === null) await world.client.request('health');
  await world.passTime(1000);
  assert.equal((await sending)['state'], 'unknown');
  assert.equal(looks, 1);
});
