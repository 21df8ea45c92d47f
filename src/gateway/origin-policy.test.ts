import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopbackAddress, refusedOrigin } from './origin-policy.ts';

const local = { host: '127.0.0.1', port: 18789, allowedOrigins: ['https://console.example'] };
const cases: { origin?: string; host?: string; allowed: boolean; policy?: typeof local }[] = [
  { allowed: true },
  { host: '127.0.0.1:18789', allowed: true },
  { host: 'localhost:18789', allowed: true },
  { host: '[::1]:18789', allowed: true },
  { host: 'evil.example:18789', allowed: false },
  { host: 'console.example', allowed: true },
  { host: 'evil.example', policy: { ...local, host: '0.0.0.0' }, allowed: true },
  { origin: 'https://evil.example', allowed: false },
  { origin: 'http://localhost:18789', allowed: true },
  { origin: 'http://127.0.0.1:18789', allowed: true },
  { origin: 'http://[::1]:18789', allowed: true },
  { origin: 'http://localhost:3000', allowed: false },
  { origin: 'http://localhost', allowed: false },
  { origin: 'http://localhost.evil.example:18789', allowed: false },
  { origin: 'http://127.0.0.1.evil.example:18789', allowed: false },
  { origin: 'http://127.0.0.1:18789@evil.example', allowed: false },
  { origin: 'null', allowed: false },
  { origin: '', allowed: false },
  { origin: 'file://', allowed: false },
  { origin: 'https://console.example', allowed: true },
  { origin: 'https://console.example.evil.example', allowed: false },
  { origin: 'http://console.example', allowed: false },
];
for (const { allowed, policy = local, ...headers } of cases)
  test(`[GW6, BR-068] ${JSON.stringify(headers)} on ${policy.host} is ${allowed ? 'let in' : 'refused'}`, () =>
    assert.equal(refusedOrigin(headers, policy) === undefined, allowed));

test('loopback is told from the rest', () => {
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
    assert.ok(isLoopbackAddress(address), address);
  for (const address of ['', '10.0.0.1', '::ffff:10.0.0.1', '127.0.0.1.evil.example'])
    assert.ok(!isLoopbackAddress(address), address);
});
