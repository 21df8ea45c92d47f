import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalKey } from './keys.ts';
import { idleSendRules } from './idle-send-rules.ts';
import {
  decideSendPolicy,
  type SendPolicy,
  type SendPolicyRule,
  type SendPolicySession,
} from './send-policy.ts';

type Match = NonNullable<SendPolicyRule['match']>;
const deny = (match: Match): SendPolicyRule => ({ match, action: 'deny' });
const allow = (match: Match): SendPolicyRule => ({ match, action: 'allow' });
const idleOf = (policy: SendPolicy, mainKey = 'main') =>
  idleSendRules(policy, { mainKey }).map(({ index, field }) =>
    field === undefined ? String(index) : `${index}.${field}`,
  );

const CASES: [name: string, policy: SendPolicy, idle: string[]][] = [
  ['a misspelt channel', { rules: [deny({ channel: 'discrod' })] }, ['0.channel']],
  ['a blank channel', { rules: [deny({ channel: ' ' })] }, ['0.channel']],
  ['a known channel in any case', { rules: [deny({ channel: ' Discord ' })] }, []],
  ['a channel of an imported session', { rules: [deny({ channel: 'slack' })] }, []],
  ['a service that only looks like webchat', { rules: [deny({ channel: 'wechat' })] }, []],
  ['a key prefix with the agent', { rules: [deny({ keyPrefix: 'agent:main:' })] }, ['0.keyPrefix']],
  ['a key prefix without a word', { rules: [deny({ keyPrefix: ':group:' })] }, ['0.keyPrefix']],
  ['a key prefix with a blank in it', { rules: [deny({ keyPrefix: 'cron: j' })] }, ['0.keyPrefix']],
  ['the key prefix of cron', { rules: [deny({ keyPrefix: 'Cron:' })] }, []],
  ['half a word', { rules: [deny({ keyPrefix: 'disc' })] }, []],
  ['a key prefix that is a whole key', { rules: [deny({ keyPrefix: 'main' })] }, []],
  ['an id that differs by case', { rules: [deny({ keyPrefix: 'discord:group:ABC' })] }, []],
  [
    'a raw prefix without the agent',
    { rules: [deny({ rawKeyPrefix: 'discord:group:' })] },
    ['0.rawKeyPrefix'],
  ],
  ['main as a raw prefix', { rules: [deny({ rawKeyPrefix: 'main' })] }, ['0.rawKeyPrefix']],
  [
    'raw prefixes that a key can have',
    {
      rules: ['agent:main:', 'agent:ma', 'ag', 'cron:', 'cr', 'hook:x', 'node-', 'global'].map(
        (rawKeyPrefix) => deny({ rawKeyPrefix, channel: rawKeyPrefix }),
      ),
    },
    [],
  ],
  [
    'two prefixes that no key has',
    { rules: [deny({ keyPrefix: 'cron:', rawKeyPrefix: 'agent:main:discord:' })] },
    ['0'],
  ],
  [
    'two prefixes that fit each other',
    { rules: [deny({ keyPrefix: 'discord:', rawKeyPrefix: 'agent:main:discord:group:' })] },
    [],
  ],
  ['an allow where all is allowed', { rules: [allow({ channel: 'discord' })] }, ['0']],
  [
    'an allow that a deny meets where all is allowed',
    { rules: [allow({ channel: 'discord' }), deny({ channel: 'discord', chatType: 'group' })] },
    ['0'],
  ],
  [
    'the same deny twice',
    { rules: [deny({ chatType: 'dm' }), deny({ chatType: 'direct' })] },
    ['1'],
  ],
  [
    'a deny behind a wider one',
    { rules: [deny({ channel: 'discord' }), deny({ channel: 'discord', chatType: 'group' })] },
    ['1'],
  ],
  [
    'a deny before a wider one',
    { rules: [deny({ channel: 'discord', chatType: 'group' }), deny({ channel: 'discord' })] },
    ['0'],
  ],
  ['a deny under an empty match', { rules: [deny({}), deny({ channel: 'discord' })] }, ['1']],
  [
    'a longer prefix under a shorter one',
    { rules: [deny({ keyPrefix: 'discord:' }), deny({ rawKeyPrefix: 'agent:a:discord:group:' })] },
    ['1'],
  ],
  [
    'denies that only meet',
    { rules: [deny({ channel: 'discord' }), deny({ chatType: 'group' })] },
    [],
  ],
  [
    'an allow under a deny',
    {
      default: 'deny',
      rules: [allow({ channel: 'discord', chatType: 'group' }), deny({ channel: 'discord' })],
    },
    ['0'],
  ],
  [
    'an allow with an exception',
    {
      default: 'deny',
      rules: [allow({ channel: 'discord' }), deny({ channel: 'discord', chatType: 'group' })],
    },
    [],
  ],
  [
    'the same allow twice',
    { default: 'deny', rules: [allow({ channel: 'discord' }), allow({ channel: 'Discord' })] },
    ['1'],
  ],
  [
    'a deny that no allow meets where all is denied',
    { default: 'deny', rules: [allow({ channel: 'discord' }), deny({ channel: 'telegram' })] },
    ['1'],
  ],
];
for (const [name, policy, idle] of CASES) {
  test(`[SY5] of ${name}, idle are: ${idle.join(', ') || 'none'}`, () => {
    assert.deepEqual(idleOf(policy), idle);
  });
}

test('[SY5] a key prefix that every key would have under its other name is idle, and says that name', () => {
  const policy = { rules: [deny({ keyPrefix: 'main:thread:' })] };
  assert.deepEqual(idleOf(policy), []);
  const [idle] = idleSendRules(policy, { mainKey: 'work' });
  assert.equal(idle?.field, 'keyPrefix');
  assert.match(idle?.message ?? '', /the main key is "work"/);
});

const WORDS = ['main', 'main:thread:', 'discord:', 'discord:group:g', 'cron:', 'cron:j', 'node-'];
const prefix = fc.oneof(
  fc.constantFrom('', ...WORDS, 'agent:', 'agent:a:', 'global', ':x', 'x y', 'subagent:'),
  fc.constantFrom(...WORDS.map((word) => `agent:a:${word}`), 'agent:b:', 'agent:b', 'a', 'disc'),
);
const match: fc.Arbitrary<Match> = fc.record(
  {
    channel: fc.constantFrom('discord', 'Telegram', 'slack', 'wechat', 'internal', 'discrod', ' '),
    chatType: fc.constantFrom('direct', 'dm', 'group', 'channel', 'room'),
    keyPrefix: prefix,
    rawKeyPrefix: prefix,
  },
  { requiredKeys: [] },
);
const policies: fc.Arbitrary<SendPolicy> = fc.record({
  default: fc.constantFrom('allow', 'deny'),
  rules: fc.array(fc.record({ match, action: fc.constantFrom('allow', 'deny') }), { maxLength: 5 }),
});
const texts = fc
  .tuple(
    fc.constantFrom('', 'agent:a:', 'agent:b:', 'agent:agent:'),
    fc.constantFrom(...WORDS, 'global', 'x y', 'subagent:', 'discord:channel:', 'agentic'),
    fc.constantFrom('', 'x', 'g1', ':x', '1:thread:7', ' z'),
  )
  .map((parts) => parts.join(''));
const sessions = (mainKey: string): fc.Arbitrary<SendPolicySession> =>
  fc
    .record({
      key: texts.map((text) => canonicalKey(text, { mainKey, agentId: 'a' })),
      channel: fc.constantFrom('discord', 'telegram', 'slack', 'wechat', 'internal', 'unknown'),
      chatType: fc.constantFrom('direct', 'group', 'channel'),
      sendPolicy: fc.constantFrom(null, null, null, 'allow', 'deny'),
    })
    .filter(({ key }) => key.ok)
    .map(({ key, ...rest }) => ({ ...rest, key: key.ok ? key.key : '' }) as SendPolicySession);

test('[SY5] without a rule that was warned of, and without all of them, every decision is the same', () => {
  let warned = 0;
  const check = (mainKey: string, policy: SendPolicy, asked: readonly SendPolicySession[]) => {
    const idle = idleSendRules(policy, { mainKey }).map(({ index }) => index);
    warned += idle.length;
    const without = (indexes: readonly number[]): SendPolicy => ({
      ...policy,
      rules: (policy.rules ?? []).filter((_, index) => !indexes.includes(index)),
    });
    for (const left of [...idle.map((index) => without([index])), without(idle)]) {
      for (const session of asked) {
        const { allowed } = decideSendPolicy(policy, session);
        assert.equal(decideSendPolicy(left, session).allowed, allowed, JSON.stringify(session));
      }
    }
  };
  for (const mainKey of ['main', 'work']) {
    const many = fc.array(sessions(mainKey), { minLength: 20, maxLength: 40 });
    fc.assert(
      fc.property(policies, many, (policy, asked) => check(mainKey, policy, asked)),
      { numRuns: 1500 },
    );
  }
  assert.ok(warned > 1000, 'rules are warned of at all');
});
