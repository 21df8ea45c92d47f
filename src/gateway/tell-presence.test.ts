import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { PresentClient } from './presence.ts';
import { createToldPresence } from './tell-presence.ts';

const client = (connId: string): PresentClient => ({
  connId,
  client: { id: connId, version: '1', platform: 'linux', mode: 'ui' },
  address: '127.0.0.1',
  scopes: [],
});

/** A list whose one connection notes what it is told; time passes by hand. */
function playedTelling(t: TestContext, intervalMs: number) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let at = 1_000_000;
  let known = 0;
  const told: string[][] = [];
  const connection = {
    lacksPresence: (version: number) => known < version,
    tellPresence: (payloadJson: string, version: number) => {
      known = version;
      const { presence } = JSON.parse(payloadJson) as { presence: { host: string }[] };
      told.push(presence.slice(1).map(({ host }) => host));
    },
  };
  const presence = createToldPresence({
    clock: { now: () => at },
    version: '1',
    host: '127.0.0.1',
    connections: new Set([connection]),
    intervalMs,
  });
  const pass = (ms: number): void => {
    at += ms;
    t.mock.timers.tick(ms);
  };
  return {
    presence,
    told,
    pass,
    setClock: (ms: number) => (at = ms),
    knows: (of: number) => (known = of),
  };
}

test('[GW38] many that come together are told together, and again not before the interval is over', (t) => {
  const { presence, told, pass } = playedTelling(t, 2000);
  presence.join(client('a'));
  presence.join(client('b'));
  pass(50);
  assert.deepEqual(told, [['b', 'a']]);
  presence.join(client('c'));
  pass(1900);
  presence.join(client('d'));
  assert.equal(told.length, 1);
  pass(100);
  assert.deepEqual(told.slice(1), [['d', 'c', 'b', 'a']]);
  pass(10_000);
  assert.equal(told.length, 2);
});

test('[GW38] nobody is told what it knows, and then the next change does not wait for it', (t) => {
  const { presence, told, pass, knows } = playedTelling(t, 2000);
  presence.join(client('a'));
  knows(presence.version());
  pass(50);
  assert.deepEqual(told, []);
  presence.join(client('b'));
  pass(50);
  assert.deepEqual(told, [['b', 'a']]);
});

test('[GW38] a clock that is set back holds no telling up, and nothing is told once it is closed', (t) => {
  const { presence, told, pass, setClock } = playedTelling(t, 2000);
  presence.join(client('a'));
  pass(50);
  setClock(0);
  presence.join(client('b'));
  pass(2000);
  assert.equal(told.length, 2);
  presence.join(client('c'));
  presence.close();
  presence.join(client('d'));
  pass(10_000);
  assert.equal(told.length, 2);
});
