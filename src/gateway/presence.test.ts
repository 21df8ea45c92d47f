import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventFrame, HelloOk } from '../protocol/frames.ts';
import { createPresence } from './presence.ts';
import type { PresentClient } from './presence.ts';
import { eventsOf, isEvent, startGateway } from './test-gateway.suite.ts';

type Json = Record<string, unknown>;

function playedPresence() {
  let at = 1000;
  let changes = 0;
  const presence = createPresence({
    clock: { now: () => at },
    version: '9',
    host: '127.0.0.1',
    onChange: () => (changes += 1),
  });
  return {
    presence,
    pass: (ms: number) => (at += ms),
    changes: () => changes,
    shown: () =>
      presence
        .entries()
        .slice(1)
        .map(({ host, reason, ts }) => `${host} ${reason} ${ts}`),
  };
}

const client = (connId: string, given: Partial<PresentClient['client']> = {}): PresentClient => ({
  connId,
  client: { id: connId, version: '1', platform: 'linux', mode: 'ui', ...given },
  address: '10.0.0.7',
  scopes: ['operator.read'],
});

test('[GW38] the gateway is first on the list, then who is connected, the newest first', () => {
  const { presence, shown, pass } = playedPresence();
  presence.join(client('a'));
  presence.join(client('b', { displayName: 'Bea', deviceFamily: 'Desk' }));
  pass(10);
  const [self, newest] = presence.entries();
  assert.deepEqual(
    [self?.reason, self?.mode, self?.version, self?.ip],
    ['self', 'gateway', '9', '127.0.0.1'],
  );
  assert.deepEqual(newest, {
    host: 'Bea',
    version: '1',
    platform: 'linux',
    deviceFamily: 'Desk',
    ip: '10.0.0.7',
    mode: 'ui',
    roles: ['operator'],
    scopes: ['operator.read'],
    reason: 'connect',
    ts: 1010,
  });
  assert.deepEqual(shown(), ['Bea connect 1010', 'a connect 1010']);
});

test('[GW38] who has gone is told for five minutes, and a command never', () => {
  const { presence, shown, pass, changes } = playedPresence();
  presence.join(client('command', { mode: 'cli' }))();
  assert.deepEqual([shown(), changes(), presence.version()], [[], 0, 1]);
  const leave = presence.join(client('a'));
  leave();
  leave();
  assert.deepEqual([changes(), presence.version()], [2, 3]);
  pass(300_000);
  assert.deepEqual(shown(), ['a disconnect 1000']);
  pass(1);
  assert.deepEqual(shown(), []);
});

test('[GW38] connections of one instance are one entry, whatever the case of its name; a name proves nothing about a device', () => {
  const { presence, shown } = playedPresence();
  const leaveFirst = presence.join(client('first', { instanceId: 'Desk-1' }));
  const leaveSecond = presence.join(client('second', { instanceId: ' desk-1 ' }));
  presence.join({ ...client('own', { instanceId: 'desk-1' }), deviceId: 'd1' });
  assert.deepEqual(shown(), ['own connect 1000', 'second connect 1000']);
  leaveSecond();
  assert.deepEqual(shown(), ['own connect 1000', 'first connect 1000']);
  leaveFirst();
  assert.deepEqual(shown(), ['own connect 1000', 'first disconnect 1000']);
  presence.join(client('third', { instanceId: 'DESK-1' }));
  assert.deepEqual(shown(), ['third connect 1000', 'own connect 1000']);
});

test('[GW38] the list is bounded, and so is what a client says of itself', () => {
  const { presence } = playedPresence();
  const leave = Array.from({ length: 500 }, (_, at) => presence.join(client(`c${at}`)));
  assert.equal(presence.entries().length, 200);
  assert.equal(presence.entries()[1]?.host, 'c499');
  leave.slice(0, 450).forEach((gone) => gone());
  const entries = presence.entries();
  assert.equal(entries.length, 200);
  assert.equal(entries.filter(({ reason }) => reason === 'connect').length, 50);
  assert.equal(entries[51]?.host, 'c449');
  presence.join(
    client('long', { displayName: '\ud83d\ude00'.repeat(200), version: ' ', platform: '' }),
  );
  const [, long] = presence.entries();
  assert.ok((long?.host.length ?? 0) <= 100);
  assert.deepEqual([long?.version, long?.platform], ['unknown', 'unknown']);
});

test('[GW38] a credential in the name of a client is masked', () => {
  const { presence } = playedPresence();
  const key = `sk-ant-api03-${'k3Y'.repeat(30)}`;
  presence.join(client('a', { displayName: `mine ${key}` }));
  const [, entry] = presence.entries();
  assert.match(entry?.host ?? '', /^mine /);
  assert.ok(!JSON.stringify(entry).includes('k3Y'));
});

const helloOf = (answer: { ok: boolean; payload?: unknown }): HelloOk => answer.payload as HelloOk;
const ui = (name: string): Json => ({
  client: { id: 'console', version: '1', platform: 'web', mode: 'ui', displayName: name },
});
const isNews =
  (fits: (entries: { host: string; reason: string }[]) => boolean) =>
  (frame: unknown): frame is EventFrame =>
    isEvent('presence')(frame as never) &&
    fits((frame as { payload: { presence: { host: string; reason: string }[] } }).payload.presence);

test('[GW38] who connects is told who is there, and is not told of itself again', async (t) => {
  const door = await startGateway({ limits: { presenceIntervalMs: 0 } });
  t.after(() => door.gateway.close());
  const first = await door.open();
  const hello = helloOf(await first.connect(ui('one')));
  assert.deepEqual(
    hello.snapshot.presence.map(({ host, reason }) => (reason === 'self' ? reason : host)),
    ['self', 'one'],
  );
  const second = await door.open();
  const next = helloOf(await second.connect(ui('two')));
  assert.ok(next.snapshot.stateVersion.presence > hello.snapshot.stateVersion.presence);
  const told = await first.next(isNews((entries) => entries.some(({ host }) => host === 'two')));
  assert.deepEqual(told.stateVersion, next.snapshot.stateVersion);
  const listed = await first.request('system-presence');
  assert.ok(listed.ok);
  const names = (listed.payload as { host: string }[]).slice(1).map(({ host }) => host);
  assert.deepEqual(names, ['two', 'one']);
  second.ws.close();
  await first.next(
    isNews((entries) => entries.some((one) => one.host === 'two' && one.reason === 'disconnect')),
  );
  assert.deepEqual(eventsOf(second, 'presence'), []);
  assert.equal(first.frames.filter(isEvent('presence')).length, 2);
  assert.ok(!JSON.stringify([first.frames, second.frames]).includes('the-shared-token'));
});

test('[GW38] without operator.read nobody is told who is connected', async (t) => {
  const door = await startGateway({ limits: { presenceIntervalMs: 0 } });
  t.after(() => door.gateway.close());
  const blind = await door.open();
  const hello = helloOf(await blind.connect({ ...ui('blind'), scopes: ['operator.pairing'] }));
  assert.deepEqual(hello.snapshot.presence, []);
  const seeing = await door.connect(ui('seeing'));
  await (await door.connect(ui('third'))).request('health');
  await seeing.next(isNews((entries) => entries.some(({ host }) => host === 'third')));
  const refused = await blind.request('system-presence');
  assert.equal(refused.ok, false);
  assert.deepEqual(eventsOf(blind, 'presence'), []);
});
