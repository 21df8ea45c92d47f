/** B6 as a table, cell by cell, written from the document and not from the code. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChatType, SendPolicyAction } from '../protocol/words.ts';
import { chatTypeOf } from './keys.ts';
import { decideSendPolicy, toChatType } from './send-policy.ts';
import type { SendPolicy, SendPolicyRule } from './send-policy.ts';

type Match = NonNullable<SendPolicyRule['match']>;
const deny = (match?: Match): SendPolicyRule => ({ match, action: 'deny' });
const allow = (match?: Match): SendPolicyRule => ({ match, action: 'allow' });

/** A session as its row has it: the chat type may be recorded, or told by the key, or neither. */
interface Asked {
  key: string;
  channel: string;
  chatType?: ChatType | null;
  sendPolicy?: SendPolicyAction;
}
const GROUP: Asked = { key: 'agent:main:discord:group:G1', channel: 'discord' };
const CHANNEL: Asked = { key: 'agent:main:slack:channel:C1', channel: 'slack' };
const ROOM: Asked = { key: 'agent:main:matrix:room:R1', channel: 'matrix' };
const DIRECT: Asked = { key: 'agent:main:telegram:direct:7', channel: 'telegram' };
const MAIN: Asked = { key: 'agent:main:main', channel: 'webchat' };
const CRON: Asked = { key: 'cron:j1', channel: 'internal' };
const CHILD: Asked = { key: 'agent:main:subagent:u1', channel: 'unknown' };

const OVERRIDE = 'session override';
const DEFAULT = 'session.sendPolicy.default';
const rule = (index: number): string => `session.sendPolicy.rules[${index}]`;

/** name, rules and default, session, decision, what decided */
type Case = [string, SendPolicy | undefined, Asked, SendPolicyAction, string];
/** Of a match field alone: what it says, whom it fits. */
type Fit = [match: Match, session: Asked, fits: boolean];

const ENTRY_GROUP: Asked = { ...MAIN, chatType: 'group' };
const ENTRY_DIRECT: Asked = { ...GROUP, chatType: 'direct' };
const ENTRY_CHANNEL: Asked = { ...CRON, chatType: 'channel' };

const FITS: Record<string, Fit[]> = {
  channel: [
    [{ channel: 'discord' }, GROUP, true],
    [{ channel: 'Discord' }, GROUP, true],
    [{ channel: 'DISCORD' }, { ...GROUP, channel: 'Discord' }, true],
    [{ channel: ' discord ' }, GROUP, true],
    [{ channel: 'slack' }, GROUP, false],
    [{ channel: 'disc' }, GROUP, false],
    [{ channel: 'internal' }, CRON, true],
    [{ channel: 'unknown' }, CHILD, true],
    [{ channel: 'webchat' }, MAIN, true],
    // the channel of the session, not the word in its key
    [{ channel: 'discord' }, { ...GROUP, channel: 'telegram' }, false],
  ],
  'chatType, from the key': [
    [{ chatType: 'group' }, GROUP, true],
    [{ chatType: 'group' }, { key: 'agent:main:group:G1', channel: 'unknown' }, true],
    [{ chatType: 'group' }, CHANNEL, false],
    [{ chatType: 'group' }, ROOM, false],
    [{ chatType: 'group' }, DIRECT, false],
    [{ chatType: 'channel' }, CHANNEL, true],
    [{ chatType: 'channel' }, ROOM, true],
    [{ chatType: 'channel' }, GROUP, false],
    [{ chatType: 'channel' }, DIRECT, false],
    [{ chatType: 'room' }, ROOM, true],
    [{ chatType: 'room' }, CHANNEL, true],
    [{ chatType: 'room' }, GROUP, false],
    [{ chatType: 'direct' }, DIRECT, true],
    [{ chatType: 'direct' }, GROUP, false],
    [{ chatType: 'direct' }, CHANNEL, false],
    [{ chatType: 'direct' }, ROOM, false],
    [{ chatType: 'dm' }, DIRECT, true],
    [{ chatType: 'dm' }, GROUP, false],
  ],
  'chatType, from neither': [
    [{ chatType: 'direct' }, MAIN, true],
    [{ chatType: 'direct' }, CRON, true],
    [{ chatType: 'direct' }, CHILD, true],
    [{ chatType: 'dm' }, MAIN, true],
    [{ chatType: 'group' }, MAIN, false],
    [{ chatType: 'channel' }, CHILD, false],
    [{ chatType: 'room' }, CRON, false],
  ],
  'chatType, from the entry': [
    [{ chatType: 'group' }, ENTRY_GROUP, true],
    [{ chatType: 'direct' }, ENTRY_GROUP, false],
    [{ chatType: 'direct' }, ENTRY_DIRECT, true],
    [{ chatType: 'dm' }, ENTRY_DIRECT, true],
    [{ chatType: 'group' }, ENTRY_DIRECT, false],
    [{ chatType: 'channel' }, ENTRY_CHANNEL, true],
    [{ chatType: 'room' }, ENTRY_CHANNEL, true],
    [{ chatType: 'direct' }, ENTRY_CHANNEL, false],
    [{ chatType: 'group' }, { ...GROUP, chatType: null }, true],
  ],
  'chatType, other spellings': [
    [{ chatType: 'Group' }, GROUP, true],
    [{ chatType: ' DM ' }, DIRECT, true],
    [{ chatType: 'party' }, GROUP, false],
    [{ chatType: '' }, MAIN, false],
  ],
  keyPrefix: [
    [{ keyPrefix: 'cron:' }, CRON, true],
    [{ keyPrefix: 'cron:j1' }, CRON, true],
    [{ keyPrefix: 'cron:j2' }, CRON, false],
    [{ keyPrefix: 'hook:' }, CRON, false],
    [{ keyPrefix: 'discord:' }, GROUP, true],
    [{ keyPrefix: 'discord:group:' }, GROUP, true],
    [{ keyPrefix: 'Discord:Group:g1' }, GROUP, true],
    [{ keyPrefix: 'group:' }, GROUP, false],
    [{ keyPrefix: 'agent:main:' }, GROUP, false],
    [{ keyPrefix: 'agent:' }, GROUP, false],
    [{ keyPrefix: 'main' }, MAIN, true],
    [{ keyPrefix: 'subagent:' }, CHILD, true],
    [{ keyPrefix: '' }, GROUP, true],
  ],
  rawKeyPrefix: [
    [{ rawKeyPrefix: 'agent:main:' }, GROUP, true],
    [{ rawKeyPrefix: 'agent:main:discord:group:' }, GROUP, true],
    [{ rawKeyPrefix: 'AGENT:Main:' }, GROUP, true],
    [{ rawKeyPrefix: 'agent:ma' }, GROUP, true],
    [{ rawKeyPrefix: 'agent:other:' }, GROUP, false],
    [{ rawKeyPrefix: 'discord:' }, GROUP, false],
    [{ rawKeyPrefix: 'cron:' }, CRON, true],
    [{ rawKeyPrefix: 'agent:' }, CRON, false],
    [{ rawKeyPrefix: '' }, GROUP, true],
  ],
  'several fields, all of which must hold': [
    [{ channel: 'discord', chatType: 'group' }, GROUP, true],
    [{ channel: 'discord', chatType: 'channel' }, GROUP, false],
    [{ channel: 'slack', chatType: 'group' }, GROUP, false],
    [{ channel: 'slack', chatType: 'channel' }, GROUP, false],
    [{ channel: 'discord', keyPrefix: 'discord:' }, GROUP, true],
    [{ channel: 'discord', keyPrefix: 'slack:' }, GROUP, false],
    [{ chatType: 'group', keyPrefix: 'discord:' }, GROUP, true],
    [{ chatType: 'direct', keyPrefix: 'discord:' }, GROUP, false],
    [{ keyPrefix: 'discord:', rawKeyPrefix: 'agent:main:' }, GROUP, true],
    [{ keyPrefix: 'discord:', rawKeyPrefix: 'agent:b:' }, GROUP, false],
    [
      { channel: 'discord', chatType: 'group', keyPrefix: 'discord:', rawKeyPrefix: 'agent:main:' },
      GROUP,
      true,
    ],
    [
      { channel: 'discord', chatType: 'group', keyPrefix: 'discord:', rawKeyPrefix: 'agent:b:' },
      GROUP,
      false,
    ],
  ],
  'no field': [
    [{}, GROUP, true],
    [{}, CRON, true],
    [{}, CHILD, true],
  ],
};

const DISCORD = { channel: 'discord' };
const DISCORD_GROUP = { channel: 'discord', chatType: 'group' };
const SLACK = { channel: 'slack' };

const ORDER: Case[] = [
  // no rule matches: the default, and a missing one allows
  ['no policy', undefined, GROUP, 'allow', DEFAULT],
  ['an empty policy', {}, GROUP, 'allow', DEFAULT],
  ['no rules and no default', { rules: [] }, GROUP, 'allow', DEFAULT],
  ['default allow', { default: 'allow' }, GROUP, 'allow', DEFAULT],
  ['default deny', { default: 'deny' }, GROUP, 'deny', DEFAULT],
  ['a deny of others, no default', { rules: [deny(SLACK)] }, GROUP, 'allow', DEFAULT],
  [
    'a deny of others, default deny',
    { rules: [deny(SLACK)], default: 'deny' },
    GROUP,
    'deny',
    DEFAULT,
  ],
  ['an allow of others, no default', { rules: [allow(SLACK)] }, GROUP, 'allow', DEFAULT],
  [
    'an allow of others, default deny',
    { rules: [allow(SLACK)], default: 'deny' },
    GROUP,
    'deny',
    DEFAULT,
  ],
  // one rule matches
  ['a deny, no default', { rules: [deny(DISCORD)] }, GROUP, 'deny', rule(0)],
  ['a deny, default allow', { rules: [deny(DISCORD)], default: 'allow' }, GROUP, 'deny', rule(0)],
  ['a deny, default deny', { rules: [deny(DISCORD)], default: 'deny' }, GROUP, 'deny', rule(0)],
  ['an allow, no default', { rules: [allow(DISCORD)] }, GROUP, 'allow', rule(0)],
  [
    'an allow, default allow',
    { rules: [allow(DISCORD)], default: 'allow' },
    GROUP,
    'allow',
    rule(0),
  ],
  ['an allow, default deny', { rules: [allow(DISCORD)], default: 'deny' }, GROUP, 'allow', rule(0)],
  ['a rule without a match', { rules: [deny()] }, GROUP, 'deny', rule(0)],
  ['a rule with an empty match', { rules: [deny({})] }, GROUP, 'deny', rule(0)],
  // the first deny wins, wherever it stands
  [
    'an allow before a deny',
    { rules: [allow(DISCORD), deny(DISCORD_GROUP)] },
    GROUP,
    'deny',
    rule(1),
  ],
  [
    'a deny before an allow',
    { rules: [deny(DISCORD_GROUP), allow(DISCORD)] },
    GROUP,
    'deny',
    rule(0),
  ],
  [
    'an allow of the same before a deny',
    { rules: [allow(DISCORD), deny(DISCORD)] },
    GROUP,
    'deny',
    rule(1),
  ],
  [
    'a deny of the same before an allow',
    { rules: [deny(DISCORD), allow(DISCORD)] },
    GROUP,
    'deny',
    rule(0),
  ],
  [
    'a narrow allow and a wide deny',
    { rules: [allow(DISCORD_GROUP), deny()] },
    GROUP,
    'deny',
    rule(1),
  ],
  ['two denies', { rules: [deny(DISCORD), deny(DISCORD_GROUP)] }, GROUP, 'deny', rule(0)],
  [
    'a deny of others before a deny',
    { rules: [deny(SLACK), deny(DISCORD)] },
    GROUP,
    'deny',
    rule(1),
  ],
  [
    'denies around an allow',
    { rules: [deny(SLACK), allow(DISCORD), deny()] },
    GROUP,
    'deny',
    rule(2),
  ],
  // allowed when some allow matches and no deny does
  [
    'an allow and a deny of others',
    { rules: [allow(DISCORD), deny(SLACK)], default: 'deny' },
    GROUP,
    'allow',
    rule(0),
  ],
  [
    'a deny of others and an allow',
    { rules: [deny(SLACK), allow(DISCORD)], default: 'deny' },
    GROUP,
    'allow',
    rule(1),
  ],
  ['two allows', { rules: [allow(DISCORD), allow()], default: 'deny' }, GROUP, 'allow', rule(0)],
  [
    'a direct chat beside a denied group',
    { rules: [allow(DISCORD), deny(DISCORD_GROUP)] },
    { key: 'agent:main:discord:direct:7', channel: 'discord' },
    'allow',
    rule(0),
  ],
  // the documented configuration
  [
    'the documented rule, in a group',
    { rules: [deny(DISCORD_GROUP)], default: 'allow' },
    GROUP,
    'deny',
    rule(0),
  ],
  [
    'the documented rule, elsewhere',
    { rules: [deny(DISCORD_GROUP)], default: 'allow' },
    MAIN,
    'allow',
    DEFAULT,
  ],
];

const OVERRIDES: Case[] = (
  [
    [{ rules: [deny()] }, 'a deny'],
    [{ rules: [allow()] }, 'an allow'],
    [{ default: 'deny' }, 'the default deny'],
    [{ default: 'allow' }, 'the default allow'],
    [{ rules: [allow(DISCORD), deny(DISCORD_GROUP)] }, 'both'],
    [undefined, 'no policy'],
  ] as const
).flatMap(([policy, against]): Case[] => [
  [`allow against ${against}`, policy, { ...GROUP, sendPolicy: 'allow' }, 'allow', OVERRIDE],
  [`deny against ${against}`, policy, { ...GROUP, sendPolicy: 'deny' }, 'deny', OVERRIDE],
]);
const UNSET: Case[] = [
  ['unset under a deny', { rules: [deny()] }, GROUP, 'deny', rule(0)],
  ['unset under an allow', { rules: [allow()], default: 'deny' }, GROUP, 'allow', rule(0)],
  ['unset under default deny', { default: 'deny' }, GROUP, 'deny', DEFAULT],
  ['unset under default allow', { default: 'allow' }, GROUP, 'allow', DEFAULT],
];

function decide(policy: SendPolicy | undefined, asked: Asked): { allowed: boolean; rule: string } {
  const { key, channel, sendPolicy = null } = asked;
  return decideSendPolicy(policy, { key, channel, chatType: chatTypeOf(asked), sendPolicy });
}

for (const [field, fits] of Object.entries(FITS)) {
  describe(`a match by ${field}`, () => {
    for (const [match, session, isFit] of fits) {
      const recorded = session.chatType === undefined ? '' : `, recorded as ${session.chatType}`;
      const name = `${JSON.stringify(match)} ${isFit ? 'fits' : 'does not fit'} ${session.key} (${session.channel}${recorded})`;
      test(`[SY1] ${name}, as a deny and as an allow`, () => {
        assert.equal(decide({ rules: [deny(match)], default: 'allow' }, session).allowed, !isFit);
        assert.equal(decide({ rules: [allow(match)], default: 'deny' }, session).allowed, isFit);
      });
    }
  });
}

for (const [name, policy, session, action, decidedBy] of ORDER) {
  test(`[SY2] ${name}: ${action}, by ${decidedBy}`, () => {
    assert.deepEqual(decide(policy, session), { allowed: action === 'allow', rule: decidedBy });
  });
}

for (const [name, policy, session, action, decidedBy] of [...OVERRIDES, ...UNSET]) {
  test(`[SY3] the session's own setting ${name}: ${action}, by ${decidedBy}`, () => {
    assert.deepEqual(decide(policy, session), { allowed: action === 'allow', rule: decidedBy });
  });
}

test('[SY1] chat type words and their aliases', () => {
  const words = ['direct', 'dm', 'group', 'channel', 'room', 'DM', ' Room ', 'party', ''];
  assert.deepEqual(
    words.map((word) => toChatType(word)),
    ['direct', 'direct', 'group', 'channel', 'channel', 'direct', 'channel', undefined, undefined],
  );
});
