/** The methods of OpenClaw's clients by their published client, held against their published schemas. */
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, hash, sign } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from '../helpers/gateway-process.ts';
import { connectOpenClaw, type Json } from './openclaw-client.ts';

const MAIN = 'agent:main:main';

// they come with the client, and are installed beside these tests alone
const [SCHEMAS, CHECKER]: string[] = ['@openclaw/gateway-protocol/schema', 'typebox/value'];
const schemas = (await import(SCHEMAS!)) as Record<string, unknown>;
const { Value } = (await import(CHECKER!)) as {
  Value: { Check(schema: unknown, value: unknown): boolean; Errors(...of: unknown[]): unknown[] };
};

/** Fails with what their schema of that name does not take. */
function fits(name: string, value: unknown): void {
  const schema = schemas[`${name}Schema`];
  assert.ok(schema !== undefined, `they have a schema ${name}`);
  const flaws = Value.Check(schema, value) ? [] : [...Value.Errors(schema, value)].slice(0, 3);
  assert.deepEqual(flaws, [], `${name}: ${JSON.stringify(value)}`);
}

async function start(t: TestContext) {
  const gateway = startGatewayProcess(t, { stateDir: makeStateDir(t, { config: CRASH_CONFIG }) });
  return gateway.ready;
}

/** A key of its own, as their hosts keep one. */
function deviceOptions(): Json {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = (pem: string) => String(createPublicKey(pem).export({ format: 'jwk' }).x);
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    deviceIdentity: { deviceId: deviceIdOf(raw(publicKeyPem)), publicKeyPem, privateKeyPem },
    hostDeps: {
      signDevicePayload: (pem: string, payload: string) =>
        sign(null, Buffer.from(payload), pem).toString('base64url'),
      publicKeyRawBase64UrlFromPem: raw,
    },
  };
}
const deviceIdOf = (raw: string): string =>
  hash('sha256', Buffer.from(raw, 'base64url'), 'hex').toLowerCase();

test('[CL10, GW38] with an identity of a device and without one it is let in and told who is there', async (t) => {
  const place = await start(t);
  const ui = { mode: 'ui', clientName: 'openclaw-control-ui', role: 'operator' };
  const plain = await connectOpenClaw(t, {
    at: place,
    clientDisplayName: 'plain',
    clientBuildId: 'b1',
    instanceId: 'plain-1',
  });
  const device = await connectOpenClaw(t, {
    at: place,
    ...ui,
    ...deviceOptions(),
    clientDisplayName: 'with a key',
    scopes: ['operator.read', 'operator.write'],
  });
  const [hello] = device.hellos;
  fits('HelloOk', hello);
  fits('HelloOk', plain.hellos[0]);
  const { policy, auth, snapshot } = hello as Record<string, Json>;
  assert.deepEqual(policy, {
    maxPayload: 25 * 1024 * 1024,
    maxBufferedBytes: 50 * 1024 * 1024,
    tickIntervalMs: 15_000,
  });
  assert.deepEqual(auth?.['scopes'], ['operator.read', 'operator.write']);
  assert.equal(typeof auth?.['deviceToken'], 'string');
  const named = (entries: unknown) =>
    (entries as { host: string; mode: string }[]).map(({ host, mode }) => `${host} ${mode}`);
  assert.deepEqual(named(snapshot?.['presence']).slice(1), ['with a key ui', 'plain backend']);

  await plain.until(() => plain.events.some(({ event }) => event === 'presence'));
  const [news] = plain.events.filter(({ event }) => event === 'presence');
  fits('EventFrame', { type: 'event', ...news });
  const told = news?.payload['presence'];
  for (const entry of told as Json[]) fits('PresenceEntry', entry);
  assert.deepEqual(named(told).slice(1), ['with a key ui', 'plain backend']);
  const listed = await plain.client.request('system-presence', {});
  assert.deepEqual(named(listed).slice(1), ['with a key ui', 'plain backend']);
  assert.ok(!JSON.stringify([listed, plain.events]).includes(place.token));
});

test('[CL10, GW33, GW34, GW37] it previews, looks up and lists models; what it asks and is answered fits their schemas', async (t) => {
  const { request } = await connectOpenClaw(t, { at: await start(t) });
  const sent = { key: 'main', message: 'SAY: hello', idempotencyKey: 'k1' };
  fits('SessionsSendParams', sent);
  const { runId } = await request('sessions.send', sent);
  await request('agent.wait', { runId, timeoutMs: 20_000 });
  const keys = { keys: [MAIN, 'agent:scout:main'], limit: 5, maxChars: 80 };
  fits('SessionsPreviewParams', keys);
  const { previews } = await request('sessions.preview', keys);
  const items = [
    { role: 'user', text: 'SAY: hello' },
    { role: 'assistant', text: 'hello' },
  ];
  assert.deepEqual((previews as Json[])[0], { key: MAIN, status: 'ok', items });
  const { sessionId, messages } = await request('sessions.get', { key: MAIN });
  assert.equal((messages as Json[]).length, 2);
  for (const asked of [{ key: 'main' }, { sessionId }]) {
    fits('SessionsResolveParams', asked);
    const resolved = await request('sessions.resolve', asked);
    fits('SessionsResolveResult', resolved);
    assert.equal(resolved['key'], MAIN);
  }
  fits('ModelsListParams', { view: 'configured' });
  const models = await request('models.list', { view: 'configured' });
  fits('ModelsListResult', models);
  assert.ok((models['models'] as Json[]).length > 0);
  await assert.rejects(
    request('sessions.resolve', { label: 'nobody' }),
    /label "nobody" not found/,
  );
  await assert.rejects(request('sessions.preveiw', {}), /nearest: "sessions.preview"/);
  await assert.rejects(request('sessions.compact', {}), /sessions.compact is not supported yet/);
});

for (const protocol of [3, 4])
  test(`[CL10, GW35, GW36] by protocol ${protocol} it puts notes in and stops runs, and hears of both`, async (t) => {
    const versions = { minProtocol: protocol, maxProtocol: protocol };
    const connected = await connectOpenClaw(t, { at: await start(t), ...versions });
    const { request, events, until, gaps } = connected;
    assert.equal(connected.hellos[0]?.['protocol'], protocol);
    const note = { sessionKey: 'main', message: 'by hand', label: 'CI' };
    fits('ChatInjectParams', note);
    const { messageId } = await request('chat.inject', note);
    const isNote = ({ event, payload }: { event: string; payload: Json }) =>
      event === 'chat' && payload['runId'] === `inject-${String(messageId)}`;
    await until(() => events.some(isNote));
    fits('ChatEvent', events.find(isNote)?.payload);
    const sent = { key: MAIN, message: 'SLEEP: 60000\nSAY: never', idempotencyKey: 'k1' };
    const { runId } = await request('sessions.send', sent);
    await until(() =>
      events.some(({ event, payload }) => event === 'agent' && payload['runId'] === runId),
    );
    const abort = { key: MAIN, runId: String(runId) };
    fits('SessionsAbortParams', abort);
    assert.equal((await request('sessions.abort', abort))['abortedRunId'], runId);
    const ended = await request('agent.wait', { runId, timeoutMs: 20_000 });
    assert.equal(ended['outcome'], 'aborted');
    assert.equal(gaps(), 0);
  });
