/** Sockets of devices against decisions that fall while they are being let in. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { deviceConnect, makeDevice } from '../../test/helpers/test-device.ts';
import { isEvent, startGateway, TOKEN } from './test-gateway.suite.ts';

/** Opens a door with a device whose admission waits for the test. */
async function halfOpen(t: TestContext) {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  const device = makeDevice();
  const reached = Promise.withResolvers<void>();
  const decided = Promise.withResolvers<void>();
  door.played.admit = async () => {
    reached.resolve();
    await decided.promise;
    return { type: 'admitted', scopes: ['operator.read'] };
  };
  const socket = await door.open();
  const { payload } = await socket.next(isEvent('connect.challenge'));
  const challenge = payload as { nonce: string; ts: number };
  const params = deviceConnect(device, challenge, { auth: { token: TOKEN } });
  const answer = socket.request('connect', params).then(
    () => 'answered',
    () => 'closed',
  );
  await reached.promise;
  return { door, device, socket, answer, decide: decided.resolve };
}

test('[DV5] a device that is revoked while it is being let in does not get in', async (t) => {
  const { door, device, socket, answer, decide } = await halfOpen(t);
  door.events.emit({ type: 'device_revoked', deviceId: device.id });
  decide();
  assert.equal(await answer, 'closed');
  assert.deepEqual(await socket.closed, { code: 1008, reason: 'DEVICE_REVOKED' });
});

test('[CR3] a secret that is replaced while a device is being let in by it opens nothing', async (t) => {
  const { door, socket, answer, decide } = await halfOpen(t);
  door.gateway.reconfigure({ auth: { mode: 'token', token: 'another' } });
  decide();
  assert.equal(await answer, 'closed');
  assert.deepEqual(await socket.closed, { code: 1008, reason: 'AUTH_CREDENTIAL_ROTATED' });
});

test('[DV8] what a device sends while it is being let in is bounded', async (t) => {
  const { door, socket } = await halfOpen(t);
  socket.send('x'.repeat(80_000));
  const { code } = await socket.closed;
  assert.ok(code === 1009 || code === 1006, String(code));
  (await door.connect()).ws.close();
});

test('[DV1] a device proves itself with the nonce of its own connection only', async (t) => {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  const [first, second] = [await door.open(), await door.open()];
  const { payload } = await first.next(isEvent('connect.challenge'));
  const challenge = payload as { nonce: string; ts: number };
  const params = deviceConnect(makeDevice(), challenge, { auth: { token: TOKEN } });
  const relayed = await second.request('connect', params);
  assert.equal(relayed.ok ? '' : relayed.error.details?.['code'], 'DEVICE_AUTH_NONCE_MISMATCH');
  assert.ok((await first.request('connect', params)).ok);
});
