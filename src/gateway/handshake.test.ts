import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  TOKEN,
  connectParams,
  isEvent,
  isResponseTo,
  settle,
  startGateway,
} from './test-gateway.suite.ts';
import type { TestGateway } from './test-gateway.suite.ts';

let door: TestGateway;
before(async () => (door = await startGateway()));
after(() => door.gateway.close());

test('[GW1] the gateway speaks first: a challenge with nonce and time', async () => {
  const socket = await door.open();
  const { payload } = await socket.next(isEvent('connect.challenge'));
  assert.match((payload as { nonce: string }).nonce, /^[0-9a-f-]{36}$/);
  socket.ws.close();
});

test('[GW1] hello-ok says what was granted, what exists and which limits hold', async () => {
  const socket = await door.open();
  const hello = await socket.connect();
  assert.ok(hello.ok);
  const payload = hello.payload as Record<string, unknown>;
  assert.equal(payload['type'], 'hello-ok');
  assert.equal(payload['protocol'], 4);
  assert.deepEqual(payload['auth'], {
    role: 'operator',
    scopes: ['operator.read', 'operator.write', 'operator.admin', 'operator.pairing'],
  });
  assert.deepEqual(payload['policy'], {
    maxPayload: 25 * 1024 * 1024,
    maxBufferedBytes: 50 * 1024 * 1024,
    tickIntervalMs: 15_000,
  });
  assert.deepEqual(Object.keys(payload['features'] as object), ['methods', 'events']);
  const again = await socket.request('connect', connectParams());
  assert.match(again.ok ? '' : again.error.message, /connected already/);
  socket.ws.close();
});

test('[FZ3, GW1] a first frame that is not connect is echoed in short', async () => {
  const socket = await door.open();
  const answer = await socket.request('x'.repeat(81), {});
  assert.ok(!answer.ok);
  assert.match(answer.error.message, /^x{80}…: the first frame must be connect$/);
});

const base = connectParams();
const client = base['client'] as object;
const refusals: { title: string; params: object; code: string; details?: string; close: number }[] =
  [
    {
      title: 'no token',
      params: { ...base, auth: {} },
      code: 'UNAUTHORIZED',
      details: 'AUTH_TOKEN_MISSING',
      close: 1008,
    },
    {
      title: 'a wrong token',
      params: { ...base, auth: { token: 'x' } },
      code: 'UNAUTHORIZED',
      details: 'AUTH_TOKEN_MISMATCH',
      close: 1008,
    },
    {
      title: 'an empty token',
      params: { ...base, auth: { token: '' } },
      code: 'UNAUTHORIZED',
      details: 'AUTH_TOKEN_MISSING',
      close: 1008,
    },
    {
      title: 'a token of null',
      params: { ...base, auth: { token: null } },
      code: 'INVALID_REQUEST',
      close: 1008,
    },
    {
      title: 'a list as token',
      params: { ...base, auth: { token: [TOKEN] } },
      code: 'INVALID_REQUEST',
      close: 1008,
    },
    {
      title: 'a password where a token is due',
      params: { ...base, auth: { password: TOKEN } },
      code: 'UNAUTHORIZED',
      details: 'AUTH_TOKEN_MISSING',
      close: 1008,
    },
    {
      title: 'a version too old',
      params: { ...base, minProtocol: 1, maxProtocol: 2 },
      code: 'INVALID_REQUEST',
      details: 'PROTOCOL_MISMATCH',
      close: 1002,
    },
    {
      title: 'a version too new',
      params: { ...base, minProtocol: 5, maxProtocol: 9 },
      code: 'INVALID_REQUEST',
      details: 'PROTOCOL_MISMATCH',
      close: 1002,
    },
    {
      title: 'no version',
      params: { client, auth: { token: TOKEN } },
      code: 'INVALID_REQUEST',
      close: 1008,
    },
    {
      title: 'role node',
      params: { ...base, role: 'node' },
      code: 'INVALID_REQUEST',
      details: 'UNSUPPORTED',
      close: 1008,
    },
    {
      title: 'an unknown parameter',
      params: { ...base, admin: true },
      code: 'INVALID_REQUEST',
      close: 1008,
    },
  ];
for (const { title, params, code, details, close } of refusals)
  test(`[GW4, BR-180] connect with ${title} is refused and closed ${close}`, async () => {
    const socket = await door.open();
    const response = await socket.request('connect', params);
    assert.ok(!response.ok);
    assert.equal(response.error.code, code);
    if (details !== undefined) assert.equal(response.error.details?.['code'], details);
    if (code === 'UNAUTHORIZED') assert.ok(response.error.details?.['recommendedNextStep']);
    assert.ok(!response.error.message.includes(TOKEN));
    assert.equal((await socket.closed).code, close);
  });

test('[GW2, BR-180] a token of 10 MB is cut off, the gateway lives', async () => {
  const socket = await door.open();
  const params = { ...connectParams(), auth: { token: 'x'.repeat(10_000_000) } };
  socket.send(JSON.stringify({ type: 'req', id: '1', method: 'connect', params }));
  const { code } = await socket.closed;
  // the close frame may be overtaken by the reset of a socket with unread bytes
  assert.ok(code === 1009 || code === 1006, String(code));
  assert.ok(!socket.frames.some(isResponseTo('1')));
  const other = await door.connect();
  await settle(other);
  other.ws.close();
});

test('[GW2] pieces of a frame that never ends count too', async () => {
  const socket = await door.open();
  const piece = 'x'.repeat(40_000);
  socket.ws.send(piece, { fin: false });
  socket.ws.send(piece, { fin: false });
  const { code } = await socket.closed;
  assert.ok(code === 1009 || code === 1006, String(code));
});

for (const method of ['sessions.patch', 'agent', 'chat.send', 'health'])
  test(`[GW1, BR-183] ${method} before connect is unauthorized, and nothing is called`, async () => {
    const socket = await door.open();
    const before = door.played.calls.length;
    const response = await socket.request(method, {
      key: 'main',
      message: 'hi',
      idempotencyKey: 'k',
    });
    assert.equal(response.ok ? '' : response.error.code, 'UNAUTHORIZED');
    socket.send(
      JSON.stringify({ type: 'req', id: '9', method: 'connect', params: connectParams() }),
    );
    assert.equal((await socket.closed).code, 1008);
    assert.equal(door.played.calls.length, before);
    assert.ok(!socket.frames.some(isResponseTo('9')));
  });

for (const text of ['not json', '[]', '{"type":"event","event":"x"}', '"connect"', '{}'])
  test(`[GW1] ${text} before connect closes the socket`, async () => {
    const socket = await door.open();
    socket.send(text);
    assert.equal((await socket.closed).code, 1008);
  });

test('[GW2] a client that says nothing is closed', async () => {
  const own = await startGateway({ limits: { handshakeTimeoutMs: 20 } });
  const socket = await own.open();
  assert.deepEqual(await socket.closed, { code: 1008, reason: 'no connect frame in time' });
  await own.gateway.close();
});

test('[GW5, BR-067] a credential bound to write cannot be made admin by asking', async () => {
  const own = await startGateway({
    auth: { mode: 'token', token: TOKEN, scopes: ['operator.write'] },
  });
  const socket = await own.open();
  const hello = await socket.connect({ scopes: ['operator.admin'] });
  assert.ok(hello.ok);
  const { auth } = hello.payload as { auth: { scopes: string[] } };
  assert.deepEqual(auth.scopes, ['operator.read', 'operator.write']);
  const patch = await socket.request('sessions.patch', { key: 'main', label: 'x' });
  assert.ok(!patch.ok);
  assert.equal(patch.error.code, 'FORBIDDEN');
  assert.equal(patch.error.details?.['code'], 'MISSING_SCOPE');
  assert.equal(patch.error.details?.['missingScope'], 'operator.admin');
  assert.deepEqual(own.played.calls, []);
  await own.gateway.close();
});

test('password mode takes the password, mode none takes everyone', async () => {
  const byPassword = await startGateway({ auth: { mode: 'password', password: 'open sesame' } });
  const wrong = await (await byPassword.open()).connect({ auth: { password: 'x' } });
  assert.equal(wrong.ok ? '' : wrong.error.details?.['code'], 'AUTH_PASSWORD_MISMATCH');
  assert.ok((await (await byPassword.open()).connect({ auth: { password: 'open sesame' } })).ok);
  await byPassword.gateway.close();
  const open = await startGateway({ auth: { mode: 'none' } });
  assert.ok((await (await open.open()).connect({ auth: {} })).ok);
  await open.gateway.close();
});

test('a mode without its secret is a configuration error', async () => {
  for (const auth of [{ mode: 'token' as const }, { mode: 'password' as const, password: '' }])
    await assert.rejects(startGateway({ auth }), { code: 'config' });
});

test('[GW6, BR-068] a foreign page is refused with and without the token, and then rate limited', async () => {
  const own = await startGateway({ rateLimit: { maxAttempts: 5 } });
  const origin = 'https://evil.example';
  const statuses = [];
  for (let i = 0; i < 7; i++)
    statuses.push(await own.open({ Origin: origin }).then(() => 101, statusOf));
  assert.deepEqual(statuses, [403, 403, 403, 403, 403, 429, 429]);
  const program = await own.connect();
  await settle(program);
  await own.gateway.close();
});

test('[GW6, BR-068] an allowed page needs the token, and wrong ones lock it out', async () => {
  const origin = 'https://console.example';
  const own = await startGateway({ rateLimit: { maxAttempts: 3 }, allowedOrigins: [origin] });
  const page = await own.open({ Origin: origin });
  assert.ok((await page.connect()).ok);
  for (let i = 0; i < 3; i++)
    await (await own.open({ Origin: origin })).connect({ auth: { token: 'x' } });
  assert.equal(await own.open({ Origin: origin }).catch(statusOf), 429);
  await own.gateway.close();
});

test('[GW6] loopback pages of our own port may connect, a foreign Host may not', async () => {
  const socket = await door.open({ Origin: `http://localhost:${door.port}` });
  assert.ok((await socket.connect()).ok);
  socket.ws.close();
  assert.equal(await door.open({ Host: 'evil.example' }).catch(statusOf), 403);
});

function statusOf(error: unknown): number {
  return (error as { status: number }).status;
}
