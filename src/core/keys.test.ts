import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { routeOfKey } from './key-route.ts';
import {
  canonicalKey,
  channelOf,
  chatTypeOf,
  clientKeyOf,
  displayKey,
  isSubagentKey,
  isClientKey,
  isUuid,
  isValidAgentId,
  kindOf,
  mainKeyOf,
  mayOperatorCreate,
  normaliseAgentId,
  parseKey,
  userKeyOf,
} from './keys.ts';

const OPTIONS = { mainKey: 'main', agentId: 'beta' };
const UPPER = '0F0E0D0C-0000-4000-8000-00000000000A';
const LOWER = UPPER.toLowerCase();

const canonical = (text: string, options = OPTIONS): string | undefined => {
  const answer = canonicalKey(text, options);
  return answer.ok ? answer.key : undefined;
};

const SPELLINGS: [given: string, key: string | undefined][] = [
  ['main', 'agent:beta:main'],
  ['  MAIN ', 'agent:beta:main'],
  ['agent:Main:main', 'agent:main:main'],
  ['AGENT: main : MAIN', 'agent:main:main'],
  ['agent:main:Discord:GROUP:aBc', 'agent:main:discord:group:aBc'],
  ['agent:main:matrix:group:!AbC:host.org', 'agent:main:matrix:group:!AbC:host.org'],
  [`agent:main:x:group:${UPPER}`, `agent:main:x:group:${UPPER}`],
  ['agent:main:slack:channel:C1:subagent:u', 'agent:main:slack:channel:C1:subagent:u'],
  ['agent:main:slack:Room:R1', 'agent:main:slack:room:R1'],
  ['agent:main:group:G1', 'agent:main:group:G1'],
  ['agent:main:Direct:+31', 'agent:main:direct:+31'],
  ['agent:main:WhatsApp:DM:Peer', 'agent:main:whatsapp:dm:Peer'],
  ['agent:main:Telegram:Acc:direct:P:q', 'agent:main:telegram:Acc:direct:P:q'],
  ['agent:main:discord:slash:U1', 'agent:main:discord:slash:U1'],
  [`agent:main:SubAgent:${UPPER}`, `agent:main:subagent:${LOWER}`],
  [`agent:m:subagent:${UPPER}:Subagent:${UPPER}`, `agent:m:subagent:${LOWER}:subagent:${LOWER}`],
  [`agent:m:subagent:${UPPER}:THREAD:T1`, `agent:m:subagent:${LOWER}:thread:T1`],
  [`agent:m:ACP:${UPPER}`, `agent:m:acp:${LOWER}`],
  ['agent:m: MCP :Claude Code:x:group:y', 'agent:m:mcp:Claude Code:x:group:y'],
  [`agent:m:mcp:${UPPER}`, `agent:m:mcp:${UPPER}`],
  ['agent:m:mcp:', undefined],
  ['mcp:x', undefined],
  ['agent:m:main:Thread:17.2', 'agent:m:main:thread:17.2'],
  ['cron:Job-1', 'cron:Job-1'],
  ['agent:ops:Cron:Job-1', 'cron:Job-1'],
  [`agent:ops:HOOK:${UPPER}`, `hook:${LOWER}`],
  ['Node-Pi4', 'node-Pi4'],
  ['agent:ops:node-Pi4', 'node-Pi4'],
  ['agent:m:Anything', 'agent:m:Anything'],
  ['', undefined],
  ['   ', undefined],
  ['global', undefined],
  ['Unknown', undefined],
  ['agent:m:global', undefined],
  ['agent:m: unknown ', undefined],
  ['group:g1', undefined],
  ['discord:group:g1', undefined],
  [`subagent:${LOWER}`, undefined],
  [LOWER, undefined],
  ['some label', undefined],
  ['agent::main', undefined],
  ['agent:main', undefined],
  ['agent:main:', undefined],
  ['agent:a b:main', undefined],
  ['agent:../x:main', undefined],
  ['agent:a:agent:b:main', undefined],
  ['agent:m:discord:group:', undefined],
  ['agent:m:subagent:', undefined],
  ['cron:', undefined],
  ['agent:m:x\u0000y', undefined],
  ['agent:m:x\u0085y', undefined],
  ['agent:m:a\u202Enimda', undefined],
  ['agent:m:admin\u200B1', undefined],
  ['agent:m:x\u2028y', undefined],
  ['agent:m:discord:group:Grüße 群', 'agent:m:discord:group:Grüße 群'],
  ['agent:m:\ud800', undefined],
  [`agent:m:${'x'.repeat(600)}`, undefined],
];

for (const [given, key] of SPELLINGS) {
  const shown = JSON.stringify(given.slice(0, 60));
  test(`[BR-060, KY6] the key of ${shown} is ${key ?? 'none'}`, () => {
    assert.equal(canonical(given), key);
  });
}

test('[OA3, BR-191] a user is a name of their own, whatever it looks like', () => {
  const users = [
    'ann',
    'Ann',
    ' ann',
    'ann ',
    'group:1',
    'Group:1',
    'group%3A1',
    'direct:ann:thread:7',
    'main',
    ':',
    '%',
    'a\u202eb',
    'ab',
    'a\nb',
  ];
  const keys = users.map((user) => userKeyOf({ agentId: 'a', program: 'openai', user }));
  assert.equal(new Set(keys.map((key) => canonical(key))).size, users.length);
  for (const key of keys) {
    assert.equal(canonical(key), key);
    assert.equal(kindOf(key, { mainKey: 'main' }), 'other', key);
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), (user) => {
      if (!user.isWellFormed() || user.trim() === '') return;
      const key = userKeyOf({ agentId: 'a', program: 'openai', user });
      assert.equal(canonical(key), key);
      assert.equal(parseKey(key).form, 'other');
    }),
  );
});

test('[BR-191] chat ids that differ by case are different sessions', () => {
  assert.notEqual(
    canonical('agent:main:matrix:group:!AbC'),
    canonical('agent:main:matrix:group:!abc'),
  );
});

test('[BR-151] agent ids that differ by case are the same agent', () => {
  assert.equal(canonical('agent:Main:x'), canonical('agent:main:x'));
});

test('[BR-220] in global scope every main key is the one shared row and the word global is refused', () => {
  const options = { ...OPTIONS, scope: 'global' as const };
  assert.equal(canonical('main', options), 'global');
  assert.equal(canonical('agent:other:main', options), 'global');
  assert.equal(canonical('agent:other:discord:group:G', options), 'agent:other:discord:group:G');
  assert.equal(canonical('global', options), undefined);
  assert.equal(displayKey('global', { agentId: 'beta', mainKey: 'main', scope: 'global' }), 'main');
});

test('a configured main key is honoured, and main stays its alias', () => {
  const options = { mainKey: 'Work', agentId: 'a' };
  assert.equal(canonical('main', options), 'agent:a:work');
  assert.equal(canonical('WORK', options), 'agent:a:work');
  assert.equal(canonical('agent:b:main', options), 'agent:b:work');
});

test('an alias of a bare key names its agent', () => {
  assert.deepEqual(canonicalKey('agent:Ops:cron:j1', OPTIONS), {
    ok: true,
    key: 'cron:j1',
    agentId: 'ops',
  });
  assert.deepEqual(canonicalKey('cron:j1', OPTIONS), { ok: true, key: 'cron:j1' });
});

test('[BR-060] a canonical key is its own canonical form, whatever was given', () => {
  const words =
    'agent,Main,a_b,subagent,group,Discord,cron,node-x,thread,direct,main, ,,!Ab,global,acp,MCP,hook,topic';
  const part = fc.constantFrom(UPPER, ...words.split(','));
  const text = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 7 }).map((parts) => parts.join(':')),
  );
  fc.assert(
    fc.property(text, fc.boolean(), (rest, isPrefixed) => {
      const first = canonicalKey(isPrefixed ? `agent:Main:${rest}` : rest, OPTIONS);
      if (!first.ok) return;
      assert.equal(canonical(first.key), first.key);
      assert.notEqual(parseKey(first.key).form, 'unknown');
    }),
  );
});

test('a key is parsed left to right and never inside an opaque id', () => {
  assert.deepEqual(parseKey('agent:m:telegram:acc:direct:P:x'), {
    form: 'direct',
    agentId: 'm',
    channel: 'telegram',
    accountId: 'acc',
    id: 'P:x',
  });
  assert.deepEqual(parseKey('agent:m:slack:channel:C1:subagent:u'), {
    form: 'channel',
    agentId: 'm',
    channel: 'slack',
    id: 'C1:subagent:u',
  });
  assert.equal(isSubagentKey('agent:m:slack:channel:C1:subagent:u'), false);
  assert.equal(isSubagentKey('agent:m:subagent:u'), true);
  assert.deepEqual(parseKey('agent:m:subagent:u:thread:T'), {
    form: 'subagent',
    agentId: 'm',
    id: 'u',
    threadId: 'T',
  });
  assert.deepEqual(parseKey('cron:j:1'), { form: 'cron', id: 'j:1' });
  assert.deepEqual(parseKey('nonsense'), { form: 'other' });
  assert.deepEqual(parseKey('global'), { form: 'global' });
});

const KINDS = [
  ['agent:m:main', null, 'main'],
  ['global', null, 'main'],
  ['agent:m:main:thread:1', null, 'other'],
  ['cron:j', null, 'cron'],
  ['hook:h', null, 'hook'],
  ['node-n', null, 'node'],
  ['agent:m:discord:group:g', null, 'group'],
  ['agent:m:discord:channel:c', null, 'group'],
  ['agent:m:slack:room:r', null, 'group'],
  ['agent:m:odd', 'group', 'group'],
  ['agent:m:odd', 'channel', 'group'],
  ['agent:m:odd', 'direct', 'other'],
  ['agent:m:subagent:u', null, 'other'],
  ['agent:m:direct:p', null, 'other'],
  ['agent:m:direct:x:group:y', null, 'other'],
  ['agent:m:acp:u', null, 'other'],
  ['agent:m:mcp:u', null, 'other'],
  ['agent:m:mcp:group:u', null, 'other'],
] as const;

test('the kind of each key form', () => {
  for (const [key, chatType, kind] of KINDS) {
    assert.equal(kindOf(key, { mainKey: 'main', chatType }), kind, key);
  }
  assert.equal(kindOf('agent:m:work', { mainKey: 'work' }), 'main');
});

test('the channel of each kind', () => {
  const cases = [
    [{ key: 'agent:m:x:group:g', kind: 'group', channel: 'Discord' }, 'discord'],
    [{ key: 'agent:m:discord:group:g', kind: 'group' }, 'discord'],
    [{ key: 'agent:m:group:g', kind: 'group', lastChannel: 'signal' }, 'unknown'],
    [{ key: 'agent:m:main', kind: 'main', lastChannel: 'telegram' }, 'telegram'],
    [{ key: 'agent:m:main', kind: 'main' }, 'unknown'],
    [{ key: 'agent:m:whatsapp:direct:p', kind: 'other' }, 'unknown'],
    [{ key: 'cron:j', kind: 'cron', lastChannel: 'telegram' }, 'internal'],
    [{ key: 'agent:m:custom', kind: 'hook' }, 'internal'],
    [{ key: 'agent:m:subagent:u', kind: 'other', lastChannel: 'webchat' }, 'webchat'],
    [{ key: 'agent:m:subagent:u', kind: 'other' }, 'unknown'],
    [{ key: 'agent:m:mcp:discord:group:g', kind: 'other' }, 'unknown'],
  ] as const;
  for (const [session, channel] of cases) assert.equal(channelOf(session), channel, session.key);
});

test('the chat type is the recorded one, else the one of the key', () => {
  assert.equal(chatTypeOf({ key: 'agent:m:x:group:g' }), 'group');
  assert.equal(chatTypeOf({ key: 'agent:m:x:room:g' }), 'channel');
  assert.equal(chatTypeOf({ key: 'agent:m:x:group:g', chatType: 'direct' }), 'direct');
  assert.equal(chatTypeOf({ key: 'agent:m:main', chatType: null }), 'direct');
});

test("only the viewer's own main session is shown as main", () => {
  const viewer = { agentId: 'beta', mainKey: 'main' };
  assert.equal(displayKey('agent:beta:main', viewer), 'main');
  assert.equal(displayKey('agent:main:main', viewer), 'agent:main:main');
  assert.equal(mainKeyOf('Beta', ' Main '), 'agent:beta:main');
});

test('[KY7] an operator creates sessions of configured agents only, and never internal ones', () => {
  const options = { mainKey: 'main', agentIds: ['main', 'beta'] };
  assert.deepEqual(mayOperatorCreate('agent:beta:whatever', options), {
    ok: true,
    agentId: 'beta',
  });
  assert.equal(mayOperatorCreate('agent:beta:discord:group:G', options).ok, true);
  const refused =
    'agent:beta:subagent:u cron:j hook:h node-n global unknown agent:gone:main nonsense agent:beta:group:G agent:beta:current agent:beta:Current';
  for (const key of refused.split(' ')) {
    assert.equal(mayOperatorCreate(key, options).ok, false, key);
  }
});

test('[IB1] only the word behind the agent id makes a key one of a client', () => {
  assert.deepEqual(parseKey('agent:m:mcp:a:b'), { form: 'mcp', agentId: 'm', id: 'a:b' });
  for (const key of ['agent:m:mcp:x', 'agent:m:mcp:subagent:u']) assert.ok(isClientKey(key), key);
  const others = [
    'agent:mcp:main',
    'agent:m:mcp',
    'agent:m:subagent:mcp:x',
    'agent:m:x:mcp:y',
    'mcp:x',
  ];
  for (const key of others) assert.ok(!isClientKey(key), key);
});

test('[IB1] a client that has a name and no key gets one that is canonical, whatever its name is', () => {
  const keyOf = (name: string) => clientKeyOf({ agentId: 'Main', name });
  assert.equal(keyOf(' Claude Code 2.1 '), 'agent:main:mcp:claude-code-2.1');
  assert.equal(keyOf('\u202E群:::'), 'agent:main:mcp:client');
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (name) => {
      const key = keyOf(name);
      assert.ok(isClientKey(key) && key.length < 100);
      assert.deepEqual(canonicalKey(key, OPTIONS), { ok: true, key, agentId: 'main' });
    }),
  );
});

test('agent ids are checked when given and normalised when configured', () => {
  for (const id of ['a', 'A_b-9', ' main ']) assert.equal(isValidAgentId(id), true, id);
  for (const id of ['', 'a b', 'a/b', 'ä', 'x'.repeat(65)])
    assert.equal(isValidAgentId(id), false, id);
  assert.equal(normaliseAgentId(' My Agent! '), 'my-agent');
  assert.equal(normaliseAgentId('***'), 'main');
  assert.equal(isUuid(UPPER), true);
  assert.equal(isUuid(`${UPPER}x`), false);
});

test('a chat key addresses its chat, topic and thread included', () => {
  assert.deepEqual(routeOfKey('agent:m:telegram:group:-100:topic:5'), {
    channel: 'telegram',
    to: '-100',
    threadId: '5',
  });
  assert.deepEqual(routeOfKey('agent:m:telegram:acc:direct:P'), {
    channel: 'telegram',
    to: 'P',
    accountId: 'acc',
  });
  assert.equal(routeOfKey('agent:m:main'), undefined);
  assert.equal(routeOfKey('agent:m:group:G'), undefined);
});
