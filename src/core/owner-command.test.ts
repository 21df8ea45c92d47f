import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overrideOf, parseOwnerCommand, sendConfirmation } from './owner-command.ts';

const COMMANDS: [text: string, setting: 'on' | 'off' | 'inherit' | undefined][] = [
  ['/send on', 'on'],
  ['/send off', 'off'],
  ['/send inherit', 'inherit'],
  ['/send: on', 'on'],
  ['/send:off', 'off'],
  ['/send : inherit', 'inherit'],
  ['/SEND ON', 'on'],
  ['/Send Off', 'off'],
  ['  /send   off \n', 'off'],
  ['/send\toff', 'off'],
  ['/send\u00a0off', 'off'],
  ['/send', undefined],
  ['/send:', undefined],
  ['/send maybe', undefined],
  ['/send off please', undefined],
  ['/send: : on', undefined],
];
for (const [text, setting] of COMMANDS) {
  test(`[CM1] ${JSON.stringify(text)} is the command /send ${setting ?? 'with an argument it does not take'}`, () => {
    assert.deepEqual(parseOwnerCommand(text), { name: 'send', setting });
  });
}

const PLAIN = [
  '',
  'send off',
  'please /send off',
  '/sendoff',
  '/send-off',
  '/sender off',
  '//send off',
  '/ send off',
  '`/send off`',
  '/send off\nand tell me',
  '/send\noff',
  '/send off\u2028now',
  '/stop',
  '[from b] /send off',
];
for (const text of PLAIN) {
  test(`[CM2] ${JSON.stringify(text)} is plain text`, () => {
    assert.equal(parseOwnerCommand(text), undefined);
  });
}

test('[CM1] a command that is a million characters long is read at once', () => {
  const blanks = ' '.repeat(1_000_000);
  assert.deepEqual(parseOwnerCommand(`/send${blanks}off`), { name: 'send', setting: 'off' });
  assert.equal(parseOwnerCommand(`/sen${blanks}off`), undefined);
});

test('[CM1] on is allow, off is deny, inherit clears, and each is confirmed in one line', () => {
  assert.deepEqual(
    (['on', 'off', 'inherit'] as const).map((setting) => overrideOf(setting)),
    ['allow', 'deny', null],
  );
  const rule = 'session.sendPolicy.default';
  const line = (setting: 'on' | 'off' | 'inherit' | undefined, allowed: boolean) =>
    sendConfirmation(setting, { allowed, rule });
  assert.match(line('on', true), /^Sending is on for this session/);
  assert.match(line('off', false), /^Sending is off for this session/);
  assert.equal(line('inherit', true), `Sending is on for this session, as ${rule} says.`);
  assert.equal(line('inherit', false), `Sending is off for this session, as ${rule} says.`);
  assert.match(line(undefined, true), /^Nothing was changed: \/send takes on, off or inherit\.$/);
  for (const setting of ['on', 'off', 'inherit', undefined] as const) {
    assert.doesNotMatch(line(setting, true), /\n/);
  }
});
