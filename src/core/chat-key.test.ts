import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatKeyOf } from './chat-key.ts';
import { routeOfKey } from './key-route.ts';

const settings = { agentId: 'a', mainKey: 'main' };

test('[CH6] a direct chat belongs to the main session, a group, channel and thread to one of its own', () => {
  const keyOf = (type: 'direct' | 'group' | 'channel', threadId?: string) =>
    chatKeyOf({ channel: 'Discord', type, id: 'Room:1', threadId }, settings);
  assert.deepEqual(keyOf('direct'), { ok: true, key: 'agent:a:main' });
  assert.deepEqual(keyOf('group'), { ok: true, key: 'agent:a:discord:group:Room:1' });
  assert.deepEqual(keyOf('channel', 't7'), {
    ok: true,
    key: 'agent:a:discord:channel:Room:1:thread:t7',
  });
  assert.deepEqual(routeOfKey('agent:a:discord:channel:Room:1:thread:t7'), {
    channel: 'discord',
    to: 'Room:1',
    threadId: 't7',
  });
});

test('[CH6] an id that no key can hold is an error', () => {
  const chat = { channel: 'discord', type: 'group', id: 'a\u0000b' } as const;
  const answer = chatKeyOf(chat, settings);
  assert.equal(answer.ok, false);
});
