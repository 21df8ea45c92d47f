/** Devices at a whole gateway: let in, asked for, narrowed, rotated, revoked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { connectGateway } from '../src/client/gateway-client.ts';
import type { ResponseFrame } from '../src/protocol/frames.ts';
import { deviceConnect, makeDevice, openDevice } from './helpers/test-device.ts';
import type { DeviceSocket, TestDevice } from './helpers/test-device.ts';
import { startWorld } from './helpers/test-world.ts';
import type { TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
/** A proxy on this machine speaks for somebody who is elsewhere. */
const FROM_ELSEWHERE = { 'X-Forwarded-For': '203.0.113.9' };

interface How {
  auth?: Json;
  scopes?: string[];
  version?: 'v2' | 'v3';
  elsewhere?: boolean;
}
function open(world: TestWorld, device: TestDevice, how: How = {}): Promise<DeviceSocket> {
  const { elsewhere = false, auth = { token: world.gateway.token }, ...given } = how;
  return openDevice(
    world.gateway.url,
    (challenge) => deviceConnect(device, challenge, { ...given, auth }),
    elsewhere ? FROM_ELSEWHERE : {},
  );
}
const payloadOf = (response: ResponseFrame): Json => {
  assert.ok(response.ok, JSON.stringify(response));
  return response.payload as Json;
};
const codeOf = (response: ResponseFrame) =>
  response.ok ? undefined : response.error.details?.['code'];
const asked = async (world: TestWorld) =>
  (await world.client.request<{ pending: Json[] }>('device.pair.list')).pending;
const auditOf = (world: TestWorld, device: TestDevice) =>
  world.store.read((tx) =>
    tx.audit.page({
      of: { subjectKind: 'device', subjectId: device.id },
      cursor: undefined,
      limit: 9,
    }),
  );

test('[DV2] with the token of the gateway a new device of this machine is let in by itself, and has a token of its own', async (t) => {
  const world = await startWorld(t);
  const device = makeDevice();
  const first = await open(world, device, { scopes: ['operator.write'], version: 'v2' });
  assert.deepEqual(first.auth.scopes, ['operator.read', 'operator.write']);
  const deviceToken = String(first.auth.deviceToken);
  assert.ok(deviceToken.length >= 40);
  const [line] = await auditOf(world, device);
  assert.deepEqual([line?.actor, line?.action], ['gateway', 'device.pair.approve']);
  // as the published client shows it: in both places
  const both = await open(world, device, { auth: { token: deviceToken, deviceToken } });
  assert.deepEqual(both.auth.scopes, ['operator.read', 'operator.write']);
  assert.equal(both.auth.deviceToken, undefined);
  const own = await open(world, device, { auth: { deviceToken }, elsewhere: true });
  assert.ok(own.answer.ok);
  const stored = await world.store.read((tx) => tx.devices.get(device.id));
  assert.doesNotMatch(JSON.stringify(stored), new RegExp(deviceToken));
});

test('[DV2] a token that nobody has shown yet is given anew, one that was shown stays', async (t) => {
  const world = await startWorld(t);
  const device = makeDevice();
  const lost = (await open(world, device)).auth.deviceToken;
  const again = (await open(world, device)).auth.deviceToken;
  assert.notEqual(again, lost);
  const late = await open(world, device, { auth: { deviceToken: lost } });
  assert.equal(late.code, 'AUTH_DEVICE_TOKEN_MISMATCH');
  assert.ok((await open(world, device, { auth: { deviceToken: again } })).answer.ok);
  assert.equal((await open(world, device)).auth.deviceToken, undefined);
});

test('[DV3] a new device from elsewhere asks, is approved for some of what it asks for, and gets no more', async (t) => {
  const world = await startWorld(t);
  const device = makeDevice();
  const decider = await open(world, makeDevice(), { scopes: ['operator.admin'] });
  const how = { elsewhere: true, scopes: ['operator.admin'] };
  const refused = await open(world, device, how);
  assert.equal(refused.code, 'PAIRING_REQUIRED');
  assert.equal((await refused.closed).code, 1008);
  const told = await decider.event('device.pair.requested');
  const [pending] = await asked(world);
  assert.deepEqual(pending, told);
  const { requestId } = told;
  assert.equal((await open(world, device, how)).code, 'PAIRING_REQUIRED');
  assert.equal((await asked(world))[0]?.['requestId'], requestId);
  const scopes = ['operator.write'];
  await world.client.request('device.pair.approve', { requestId, scopes });
  const { decision } = await decider.event('device.pair.resolved');
  assert.equal(decision, 'approved');
  const approved = await open(world, device, how);
  assert.deepEqual(approved.auth.scopes, ['operator.read', 'operator.write']);
  const { deviceToken } = approved.auth;
  const byToken = await open(world, device, { ...how, auth: { deviceToken } });
  assert.deepEqual(byToken.auth.scopes, ['operator.read', 'operator.write']);
  const patch = await byToken.request('sessions.patch', { key: 'main', label: 'x' });
  assert.equal(codeOf(patch), 'MISSING_SCOPE');
  // what a person has narrowed does not grow by itself, on this machine either
  assert.deepEqual((await open(world, device, { scopes: ['operator.admin'] })).auth.scopes, [
    'operator.read',
    'operator.write',
  ]);
  const [line] = await auditOf(world, device);
  assert.deepEqual([line?.actor, line?.action], ['operator', 'device.pair.approve']);
});

test('[DV3] a request names what it asks for: asking for more is another request', async (t) => {
  const world = await startWorld(t);
  const device = makeDevice();
  await open(world, device, { elsewhere: true, scopes: ['operator.read'] });
  const [first] = await asked(world);
  await open(world, device, { elsewhere: true, scopes: ['operator.admin'] });
  const pending = await asked(world);
  assert.equal(pending.length, 1);
  assert.notEqual(pending[0]?.['requestId'], first?.['requestId']);
  const { requestId } = first ?? {};
  const approval = world.client.request('device.pair.approve', { requestId });
  await assert.rejects(approval, { code: 'not_found' });
  const now = { requestId: pending[0]?.['requestId'] };
  await world.client.request('device.pair.reject', now);
  assert.deepEqual(await asked(world), []);
  assert.equal((await open(world, device, { elsewhere: true })).code, 'PAIRING_REQUIRED');
});

test('[DV4, BR-067] nobody approves more than they may do, and pairing alone opens nothing else', async (t) => {
  const world = await startWorld(t);
  const device = makeDevice();
  await open(world, device, { elsewhere: true, scopes: ['operator.admin'] });
  const [pending] = await asked(world);
  const { requestId } = pending ?? {};
  const clerk = await open(world, makeDevice(), { scopes: ['operator.pairing'] });
  assert.deepEqual(clerk.auth.scopes, ['operator.pairing']);
  const all = await clerk.request('device.pair.approve', { requestId });
  assert.equal(all.ok ? '' : all.error.code, 'FORBIDDEN');
  assert.equal((await asked(world)).length, 1);
  for (const method of ['health', 'sessions.list', 'config.reload'])
    assert.equal(codeOf(await clerk.request(method)), 'MISSING_SCOPE', method);
  const own = { requestId, scopes: ['operator.pairing'] };
  payloadOf(await clerk.request('device.pair.approve', own));
  const reader = await open(world, makeDevice(), { scopes: ['operator.write'] });
  for (const method of ['device.list', 'device.pair.list'])
    assert.equal(codeOf(await reader.request(method)), 'MISSING_SCOPE', method);
});

test('[DV5] a revoked device loses its sockets at once and its token, and only a person lets it in again', async (t) => {
  const world = await startWorld(t);
  const device = makeDevice();
  const bySecret = await open(world, device);
  const { deviceToken } = bySecret.auth;
  const byToken = await open(world, device, { auth: { deviceToken } });
  const other = await open(world, makeDevice());
  await world.client.request('device.revoke', { deviceId: device.id });
  for (const socket of [bySecret, byToken])
    assert.deepEqual(await socket.closed, { code: 1008, reason: 'DEVICE_REVOKED' });
  payloadOf(await other.request('health'));
  const late = await open(world, device, { auth: { deviceToken } });
  assert.equal(late.code, 'AUTH_DEVICE_TOKEN_MISMATCH');
  // also on this machine, with the token of the gateway
  const asking = await open(world, device);
  assert.equal(asking.code, 'PAIRING_REQUIRED');
  const rotation = world.client.request('device.token.rotate', { deviceId: device.id });
  await assert.rejects(rotation, /is revoked/);
  const [pending] = await asked(world);
  await world.client.request('device.pair.approve', { requestId: pending?.['requestId'] });
  assert.ok((await open(world, device)).answer.ok);
  const actions = (await auditOf(world, device)).map(({ action }) => action).toSorted();
  assert.deepEqual(actions, ['device.pair.approve', 'device.pair.approve', 'device.revoke']);
  const unknown = world.client.request('device.revoke', { deviceId: 'nobody' });
  await assert.rejects(unknown, { code: 'not_found' });
});

test('[DV6] a rotated token replaces the old one, is told once and stored as a hash', async (t) => {
  const world = await startWorld(t);
  const device = makeDevice();
  const socket = await open(world, device);
  const { deviceToken: old } = socket.auth;
  const rotated = await world.client.request('device.token.rotate', { deviceId: device.id });
  const deviceToken = String(rotated['deviceToken']);
  const late = await open(world, device, { auth: { deviceToken: old } });
  assert.equal(late.code, 'AUTH_DEVICE_TOKEN_MISMATCH');
  assert.ok((await open(world, device, { auth: { deviceToken } })).answer.ok);
  payloadOf(await socket.request('health'));
  const { devices } = await world.client.request<{ devices: Json[] }>('device.list');
  assert.equal(devices[0]?.['hasToken'], true);
  assert.doesNotMatch(JSON.stringify(devices), new RegExp(deviceToken));
});

test('[DV7] the same key of two devices is two jobs, of one device one', async (t) => {
  const world = await startWorld(t);
  const [one, two] = [await open(world, makeDevice()), await open(world, makeDevice())];
  const message = { sessionKey: 'main', message: 'SAY: hi', idempotencyKey: 'k' };
  const first = payloadOf(await one.request('chat.send', message));
  const again = payloadOf(await one.request('chat.send', message));
  assert.equal(again['runId'], first['runId']);
  const second = payloadOf(await two.request('chat.send', message));
  assert.equal(second['status'], 'started');
  assert.notEqual(second['runId'], first['runId']);
  const byOperator = await world.client.request('chat.send', message);
  assert.equal(byOperator['status'], 'started');
  await world.quiet();
});

test('[DV8, BR-180] a device that proves nothing, or shows nothing, is refused before anything is stored', async (t) => {
  const world = await startWorld(t);
  const device = makeDevice();
  const { token } = world.gateway;
  const stranger = makeDevice();
  const spoil = (how: (connect: Json, claim: Json) => Json | void) =>
    openDevice(world.gateway.url, (challenge) => {
      const connect = deviceConnect(device, challenge, { auth: { token } });
      return how(connect, connect['device'] as Json) ?? connect;
    });
  const cases: [string, DeviceSocket][] = [
    ['DEVICE_AUTH_NONCE_REQUIRED', await spoil((_connect, claim) => void delete claim['nonce'])],
    ['DEVICE_AUTH_NONCE_MISMATCH', await spoil((_connect, claim) => void (claim['nonce'] = 'x'))],
    [
      'DEVICE_AUTH_SIGNATURE_INVALID',
      await spoil((connect) => ({ ...connect, scopes: ['operator.admin'] })),
    ],
    [
      'DEVICE_AUTH_SIGNATURE_EXPIRED',
      await openDevice(world.gateway.url, ({ nonce, ts }) =>
        deviceConnect(device, { nonce, ts: ts - 600_000 }, { auth: { token } }),
      ),
    ],
    [
      'DEVICE_AUTH_DEVICE_ID_MISMATCH',
      await spoil((_connect, claim) => void (claim['id'] = stranger.id)),
    ],
    [
      'DEVICE_AUTH_PUBLIC_KEY_INVALID',
      await spoil((_connect, claim) => void (claim['publicKey'] = 'AAAA')),
    ],
    ['AUTH_TOKEN_MISSING', await open(world, device, { auth: {} })],
    ['AUTH_TOKEN_MISMATCH', await open(world, device, { auth: { token: 'x' } })],
    [
      'DEVICE_IDENTITY_REQUIRED',
      await spoil(({ device: _device, ...rest }) => ({ ...rest, auth: { deviceToken: 'x' } })),
    ],
  ];
  for (const [code, socket] of cases) {
    assert.equal(socket.code, code);
    assert.ok(!socket.answer.ok && socket.answer.error.details?.['recommendedNextStep'], code);
    assert.equal((await socket.closed).code, 1008, code);
  }
  const { devices } = await world.client.request<{ devices: Json[] }>('device.list');
  assert.deepEqual([devices, await asked(world)], [[], []]);
});

test('[DV8, BR-183] what comes while a device is being let in waits, and nothing is called for one that is not', async (t) => {
  const world = await startWorld(t);
  const hurry = (socket: DeviceSocket['ws'], id: string) =>
    socket.send(JSON.stringify({ type: 'req', id, method: 'health' }));
  const device = makeDevice();
  const params = { scopes: ['operator.read'], auth: { token: world.gateway.token } };
  const answers = await impatient(t, world, {
    toParams: (challenge) => deviceConnect(device, challenge, params),
    hurry,
  });
  assert.deepEqual(answers, ['c true', 'h true']);
  const refused = await impatient(t, world, {
    toParams: (challenge) => deviceConnect(makeDevice(), challenge, { auth: { token: 'x' } }),
    hurry,
  });
  assert.deepEqual(refused, ['c false']);
});

/** Connects and asks in one go; resolves with what was answered when the socket is closed. */
async function impatient(
  t: TestContext,
  world: TestWorld,
  how: {
    toParams: (challenge: { nonce: string; ts: number }) => Json;
    hurry: (socket: DeviceSocket['ws'], id: string) => void;
  },
): Promise<string[]> {
  const { WebSocket } = await import('ws');
  const ws = new WebSocket(world.gateway.url.replace('http', 'ws'));
  t.after(() => ws.terminate());
  const answers: string[] = [];
  const done = Promise.withResolvers<void>();
  ws.on('close', () => done.resolve());
  ws.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Json;
    if (frame['event'] === 'connect.challenge') {
      const challenge = frame['payload'] as { nonce: string; ts: number };
      const params = how.toParams(challenge);
      ws.send(JSON.stringify({ type: 'req', id: 'c', method: 'connect', params }));
      how.hurry(ws, 'h');
    }
    if (frame['type'] === 'res') answers.push(`${String(frame['id'])} ${String(frame['ok'])}`);
    if (frame['id'] === 'h') ws.close();
  });
  await done.promise;
  return answers;
}

test('[DV10] requests and devices are bounded, and the one revoked longest ago gives way', async (t) => {
  const world = await startWorld(t);
  const template = {
    publicKey: '',
    name: 'filler',
    platform: '',
    scopesJson: '[]',
  };
  await world.store.write('fill', async (tx) => {
    for (let n = 0; n < 100; n++)
      await tx.pairings.insert({
        ...template,
        id: `p${n}`,
        deviceId: `d${n}`,
        address: '',
        createdAt: tx.now,
        expiresAt: tx.now + 60_000,
      });
    for (let n = 0; n < 1000; n++)
      await tx.devices.insert({
        ...template,
        id: `d${n}`,
        approvedBy: 'operator',
        approvedAt: n,
        tokenHash: null,
        tokenUsedAt: null,
        lastSeenAt: null,
        revokedAt: n === 3 ? 1 : null,
      });
  });
  const crowded = await open(world, makeDevice(), { elsewhere: true });
  assert.equal(crowded.code, 'TOO_MANY_PAIRINGS');
  assert.ok((await open(world, makeDevice())).answer.ok);
  assert.equal(await world.store.read((tx) => tx.devices.get('d3')), undefined);
  assert.equal((await open(world, makeDevice())).code, 'TOO_MANY_DEVICES');
});

test('[DV2] mode password takes devices like mode token', async (t) => {
  const auth = { mode: 'password', password: 'open sesame' };
  const world = await startWorld(t, {
    config: { gateway: { auth } },
    connect: { password: 'open sesame' },
  });
  const device = makeDevice();
  const first = await open(world, device, { auth: { password: 'open sesame' } });
  const { deviceToken } = first.auth;
  assert.ok((await open(world, device, { auth: { deviceToken } })).answer.ok);
  const wrong = await open(world, device, { auth: { password: 'x' } });
  assert.equal(wrong.code, 'AUTH_PASSWORD_MISMATCH');
  const refusal = connectGateway({ url: world.gateway.url, password: 'x' });
  await assert.rejects(refusal, { code: 'unauthorized' });
});
