import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthLimiter } from './auth-limiter.ts';

const limits = { maxAttempts: 3, windowMs: 1000, lockoutMs: 5000, exemptLoopback: true };
function limiterAt() {
  const clock = { time: 0, now: () => clock.time };
  return { clock, limiter: createAuthLimiter(() => limits, clock) };
}
const peer = { address: '10.0.0.7' };

test('[GW4] an address is locked out after too many wrong credentials, for a while', () => {
  const { clock, limiter } = limiterAt();
  for (let i = 0; i < 2; i++) limiter.fail(peer);
  limiter.check(peer);
  limiter.fail(peer);
  assert.throws(() => limiter.check(peer), /too many wrong credentials/);
  limiter.check({ address: '10.0.0.8' });
  clock.time = 5000;
  limiter.check(peer);
});

test('[GW4] failures spread over longer than the window do not add up', () => {
  const { clock, limiter } = limiterAt();
  for (let i = 0; i < 10; i++) {
    limiter.fail(peer);
    clock.time += 600;
  }
  limiter.check(peer);
});

test('[GW4, BR-068] a program on this machine is never locked out, a page on it is', () => {
  const { limiter } = limiterAt();
  const program = { address: '::ffff:127.0.0.1' };
  const page = { ...program, origin: 'https://evil.example' };
  for (let i = 0; i < 10; i++) {
    limiter.fail(program);
    limiter.fail(page);
  }
  limiter.check(program);
  assert.throws(() => limiter.check(page));
  limiter.check({ ...program, origin: 'http://localhost:18789' });
});

test('[GW27] what comes through a proxy on this machine is no program on it, and locks out none', () => {
  const { limiter } = limiterAt();
  const proxied = { address: '127.0.0.1', isForwarded: true };
  for (let i = 0; i < 3; i++) limiter.fail(proxied);
  assert.throws(() => limiter.check(proxied), /too many wrong credentials/);
  limiter.check({ address: '127.0.0.1' });
});

test('[GW27] without the exemption programs on this machine are locked out too', () => {
  const strict = { ...limits, exemptLoopback: false };
  const limiter = createAuthLimiter(() => strict, { now: () => 0 });
  const program = { address: '::1' };
  for (let i = 0; i < 3; i++) limiter.fail(program);
  assert.throws(() => limiter.check(program), { code: 'unavailable' });
});
