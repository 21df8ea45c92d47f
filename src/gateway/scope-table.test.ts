/** The one table of scopes, walked: every method with every scope over every transport. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METHOD_NAMES, METHODS } from '../protocol/methods.ts';
import { expandScopes, OPERATOR_SCOPES } from '../protocol/scopes.ts';
import type { OperatorScope } from '../protocol/scopes.ts';
import { startGateway, TOKEN } from './test-gateway.suite.ts';

const opens = (method: keyof typeof METHODS, scopes: readonly OperatorScope[]) =>
  expandScopes(scopes).includes(METHODS[method].scope);

for (const held of [[], ...OPERATOR_SCOPES.map((scope) => [scope])]) {
  test(`[GW30, BR-176] with ${held[0] ?? 'no scope'} a socket opens exactly its methods`, async (t) => {
    const door = await startGateway({ auth: { mode: 'token', token: TOKEN, scopes: held } });
    t.after(() => door.gateway.close());
    const socket = await door.connect({ scopes: [...OPERATOR_SCOPES] });
    for (const method of METHOD_NAMES) {
      // without parameters most are refused for those: after the scope was looked at
      const before = door.played.calls.length;
      const response = await socket.request(method);
      const code = response.ok ? 'OK' : response.error.details?.['code'];
      assert.equal(code !== 'MISSING_SCOPE', opens(method, held), `${method}: ${String(code)}`);
      if (code === 'MISSING_SCOPE') assert.equal(door.played.calls.length, before, method);
    }
    socket.ws.close();
  });

  test(`[GW30, BR-176] with ${held[0] ?? 'no scope'} HTTP invokes tools or not, by the same table`, async (t) => {
    const door = await startGateway({ auth: { mode: 'token', token: TOKEN, scopes: held } });
    t.after(() => door.gateway.close());
    const answer = await fetch(`${door.url}/tools/invoke`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}` },
      body: '{"tool":"sessions_list"}',
    });
    assert.equal(answer.status, opens('tools.invoke', held) ? 200 : 403);
  });
}

test('[GW30] scopes that a client claims beyond its credential open nothing', async (t) => {
  const door = await startGateway({
    auth: { mode: 'token', token: TOKEN, scopes: ['operator.read'] },
  });
  t.after(() => door.gateway.close());
  const claims = [...OPERATOR_SCOPES, 'operator.*', '*', 'admin', '__proto__', 'constructor'];
  const socket = await door.connect({ scopes: claims });
  for (const method of METHOD_NAMES) {
    const response = await socket.request(method);
    const isMissing = !response.ok && response.error.details?.['code'] === 'MISSING_SCOPE';
    assert.equal(isMissing, !opens(method, ['operator.read']), method);
  }
});

test('[GW29] a member __proto__ is refused at every depth, answered where it has an id, and nothing is called', async (t) => {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  const socket = await door.connect();
  const spellings = ['__proto__', '\\u005f_proto__', '__pro\\u0074o__'];
  for (const [n, name] of spellings.entries()) {
    const params = `{"tool":"x","args":{"a":[{"${name}":{"isAdmin":true}}]}}`;
    socket.send(`{"type":"req","id":"p${n}","method":"tools.invoke","params":${params}}`);
    socket.send(`{"type":"req","id":"q${n}","method":"sessions.list","params":{"${name}":{}}}`);
    for (const id of [`p${n}`, `q${n}`]) {
      const response = await socket.next(
        (frame): frame is typeof frame & { type: 'res' } => frame.type === 'res' && frame.id === id,
      );
      assert.match(response.ok ? '' : response.error.message, /has a member "__proto__"/);
    }
    const answer = await fetch(`${door.url}/tools/invoke`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKEN}` },
      body: params,
    });
    assert.equal(answer.status, 400);
  }
  assert.deepEqual(door.played.calls, []);
  const spoken = { sessionKey: 'main', message: 'what is __proto__ ?', idempotencyKey: 'k' };
  assert.ok((await socket.request('chat.send', spoken)).ok);
});

test('[GW29] a secret in the address is refused in every spelling', async (t) => {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  for (const name of ['token', 'TOKEN', 'Token', 'Password', 'API_KEY', 'deviceToken', '%74oken']) {
    const answer = await fetch(`${door.url}/tools/invoke?a=1&${name}=x`, { method: 'POST' });
    assert.equal(answer.status, 400, name);
    const socket = door.open({}, { autoPong: true, path: `/?${name}=x` });
    await assert.rejects(socket, { status: 400 }, name);
  }
});

test('[GW29] an upgrade to something else than WebSocket is 426 and says what to do', async (t) => {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  const { request } = await import('node:http');
  for (const path of ['/', '/tools/invoke', '/healthz']) {
    const headers = { Connection: 'Upgrade', Upgrade: 'h2c' };
    const answer = await new Promise<{
      status: number | undefined;
      upgrade: unknown;
      text: string;
    }>((resolve, reject) => {
      const call = request(`${door.url}${path}`, { headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () =>
          resolve({ status: response.statusCode, upgrade: response.headers.upgrade, text }),
        );
      });
      call.on('error', reject).end();
    });
    assert.deepEqual([answer.status, answer.upgrade], [426, 'websocket']);
    assert.match(answer.text, /leave the Upgrade header out/);
  }
});

test('[GW4] a page that is locked out is told at the upgrade how long', async (t) => {
  const origin = 'https://console.example';
  const rateLimit = { maxAttempts: 1, lockoutMs: 90_000 };
  const door = await startGateway({ rateLimit, allowedOrigins: [origin] });
  t.after(() => door.gateway.close());
  await (await door.open({ Origin: origin })).connect({ auth: { token: 'x' } });
  await assert.rejects(door.open({ Origin: origin }), { status: 429, retryAfter: '90' });
});
