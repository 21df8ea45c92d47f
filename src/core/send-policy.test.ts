import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideSendPolicy, toChatType } from './send-policy.ts';
import type { SendPolicy, SendPolicyRule, SendPolicySession } from './send-policy.ts';

const GROUP: SendPolicySession = {
  key: 'agent:main:discord:group:G1',
  channel: 'discord',
  chatType: 'group',
  sendPolicy: null,
};
const CRON: SendPolicySession = {
  key: 'cron:j1',
  channel: 'internal',
  chatType: 'direct',
  sendPolicy: null,
};
const ROOM: SendPolicySession = {
  key: 'agent:main:slack:channel:C1',
  channel: 'slack',
  chatType: 'channel',
  sendPolicy: null,
};
const deny = (match?: SendPolicyRule['match']): SendPolicyRule => ({ match, action: 'deny' });
const allow = (match?: SendPolicyRule['match']): SendPolicyRule => ({ match, action: 'allow' });

const MATRIX: [
  name: string,
  policy: SendPolicy | undefined,
  session: SendPolicySession,
  allowed: boolean,
  rule: string,
][] = [
  ['no policy', undefined, GROUP, true, 'session.sendPolicy.default'],
  ['an empty policy', {}, GROUP, true, 'session.sendPolicy.default'],
  ['default deny', { default: 'deny' }, GROUP, false, 'session.sendPolicy.default'],
  [
    'a channel',
    { rules: [deny({ channel: ' Discord ' })] },
    GROUP,
    false,
    'session.sendPolicy.rules[0]',
  ],
  [
    'another channel',
    { rules: [deny({ channel: 'slack' })] },
    GROUP,
    true,
    'session.sendPolicy.default',
  ],
  [
    'a chat type',
    { rules: [deny({ chatType: 'group' })] },
    GROUP,
    false,
    'session.sendPolicy.rules[0]',
  ],
  [
    'the alias dm',
    { rules: [deny({ chatType: 'dm' })] },
    CRON,
    false,
    'session.sendPolicy.rules[0]',
  ],
  [
    'the alias room',
    { rules: [deny({ chatType: 'room' })] },
    ROOM,
    false,
    'session.sendPolicy.rules[0]',
  ],
  [
    'an unknown chat type',
    { rules: [deny({ chatType: 'odd' })] },
    ROOM,
    true,
    'session.sendPolicy.default',
  ],
  [
    'a key prefix',
    { rules: [deny({ keyPrefix: 'cron:' })] },
    CRON,
    false,
    'session.sendPolicy.rules[0]',
  ],
  [
    'a key prefix behind the agent',
    { rules: [deny({ keyPrefix: 'discord:' })] },
    GROUP,
    false,
    'session.sendPolicy.rules[0]',
  ],
  [
    'a key prefix with the agent',
    { rules: [deny({ keyPrefix: 'agent:main:' })] },
    GROUP,
    true,
    'session.sendPolicy.default',
  ],
  [
    'a raw key prefix',
    { rules: [deny({ rawKeyPrefix: 'agent:main:' })] },
    GROUP,
    false,
    'session.sendPolicy.rules[0]',
  ],
  [
    'a raw prefix without the agent',
    { rules: [deny({ rawKeyPrefix: 'discord:' })] },
    GROUP,
    true,
    'session.sendPolicy.default',
  ],
  [
    'all fields at once',
    { rules: [deny({ channel: 'discord', chatType: 'channel' })] },
    GROUP,
    true,
    'session.sendPolicy.default',
  ],
  ['an empty match', { rules: [deny({})] }, GROUP, false, 'session.sendPolicy.rules[0]'],
  ['no match', { rules: [deny()] }, GROUP, false, 'session.sendPolicy.rules[0]'],
  [
    'allow over default deny',
    { default: 'deny', rules: [allow({ channel: 'discord' })] },
    GROUP,
    true,
    'session.sendPolicy.rules[0]',
  ],
  [
    'allow for others',
    { default: 'deny', rules: [allow({ channel: 'slack' })] },
    GROUP,
    false,
    'session.sendPolicy.default',
  ],
  [
    'the first deny behind an allow',
    { rules: [allow({ channel: 'discord' }), deny({ channel: 'discord', chatType: 'group' })] },
    GROUP,
    false,
    'session.sendPolicy.rules[1]',
  ],
  [
    'an override allow',
    { rules: [deny()], default: 'deny' },
    { ...GROUP, sendPolicy: 'allow' },
    true,
    'session override',
  ],
  [
    'an override deny',
    { rules: [allow()] },
    { ...GROUP, sendPolicy: 'deny' },
    false,
    'session override',
  ],
];

for (const [name, policy, session, allowed, rule] of MATRIX) {
  test(`send policy with ${name} ${allowed ? 'allows' : 'denies'} ${session.key}`, () => {
    assert.deepEqual(decideSendPolicy(policy, session), { allowed, rule });
  });
}

test('chat type words and their aliases', () => {
  assert.equal(toChatType('DM'), 'direct');
  assert.equal(toChatType('room'), 'channel');
  assert.equal(toChatType('party'), undefined);
});
