import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOwner, namesNobody } from './owner.ts';

test('[CM3] on webchat and the command line the scope operator.admin makes an owner, whatever the list says', () => {
  const operator = (...scopes: string[]) => ({ type: 'operator', scopes }) as const;
  assert.equal(isOwner(operator('operator.read', 'operator.admin'), undefined), true);
  assert.equal(isOwner(operator('operator.read', 'operator.write'), ['operator', '*']), false);
  assert.equal(isOwner(operator(), ['*']), false);
});

const SENDERS: [
  list: (string | number)[] | undefined,
  channel: string,
  senderId: string,
  owner: boolean,
][] = [
  [undefined, 'discord', '1', false],
  [[], 'discord', '1', false],
  [['1'], 'discord', '1', true],
  [[1], 'discord', '1', true],
  [[' 1 '], 'discord', '1', true],
  [['1'], 'discord', '11', false],
  [['discord:1'], 'discord', '1', true],
  [['Discord: 1'], 'discord', '1', true],
  [['discord:1'], 'telegram', '1', false],
  [['slack:U1'], 'slack', 'U1', true],
  [['slack:U1'], 'slack', 'u1', false],
  [['telegram:1'], 'discord', 'telegram:1', false],
  [['@a:example.org'], 'matrix', '@a:example.org', true],
  [['*'], 'discord', '1', false],
  [['*'], 'discord', '*', false],
  [['discord:*'], 'discord', '*', false],
  [['*', '1'], 'discord', '1', true],
  [['*', '1'], 'discord', '2', false],
  [[''], 'discord', '', false],
  [['discord:'], 'discord', '', false],
];
for (const [list, channel, senderId, owner] of SENDERS) {
  test(`[CM3, BR-179] ${JSON.stringify(list)} makes ${channel} ${JSON.stringify(senderId)} ${owner ? 'an' : 'no'} owner`, () => {
    assert.equal(isOwner({ type: 'sender', channel, senderId }, list), owner);
  });
}

test('[CM3] entries that can name nobody are known as such', () => {
  for (const entry of ['', ' ', '*', 'discord:', 'discord:*', 'discord: * ']) {
    assert.equal(namesNobody(entry), true, entry);
  }
  for (const entry of ['1', 'discord:1', '@a:example.org', 'a*']) {
    assert.equal(namesNobody(entry), false, entry);
  }
});
