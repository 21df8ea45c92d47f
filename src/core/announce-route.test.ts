import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '../protocol/words.ts';
import { completeRoute } from './announce-route.ts';

const CASES: [what: string, captured: Route, last: Route | undefined, route: Route][] = [
  [
    'a captured chat stays, wherever people talk later',
    { channel: 'telegram', to: '1', threadId: '7' },
    { channel: 'telegram', to: '1', threadId: '9' },
    { channel: 'telegram', to: '1', threadId: '7' },
  ],
  [
    'a missing address and account come from the last route of the same channel',
    { channel: 'telegram', threadId: '7' },
    { channel: 'telegram', to: '1', accountId: 'bot', threadId: '9' },
    { channel: 'telegram', to: '1', accountId: 'bot', threadId: '7' },
  ],
  [
    'another channel gives nothing',
    { channel: 'telegram' },
    { channel: 'discord', to: '1', accountId: 'bot' },
    { channel: 'telegram' },
  ],
  [
    'another chat of the channel gives no account and no thread',
    { channel: 'telegram', to: '1' },
    { channel: 'telegram', to: '2', accountId: 'bot', threadId: '9' },
    { channel: 'telegram', to: '1' },
  ],
  [
    'without a last route it is as captured',
    { channel: 'x', to: '1' },
    undefined,
    { channel: 'x', to: '1' },
  ],
];
for (const [what, captured, last, route] of CASES) {
  test(`[AN11, BR-083] ${what}`, () => {
    assert.deepEqual(completeRoute(captured, last), route);
  });
}
