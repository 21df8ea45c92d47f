import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { GatewayError } from '../protocol/errors.ts';
import { TOKEN, startGateway } from './test-gateway.suite.ts';
import type { TestGateway } from './test-gateway.suite.ts';

let door: TestGateway;
before(async () => (door = await startGateway()));
after(() => door.gateway.close());

const bearer = { Authorization: `Bearer ${TOKEN}` };
const list = JSON.stringify({ tool: 'sessions_list' });
async function post(
  gateway: TestGateway,
  init: { headers?: object; body?: string; path?: string },
) {
  const response = await fetch(`${gateway.url}${init.path ?? '/tools/invoke'}`, {
    method: 'POST',
    headers: { ...bearer, ...init.headers },
    ...(init.body === undefined ? {} : { body: init.body }),
  });
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Json,
  };
}
interface Json {
  ok: boolean;
  result?: unknown;
  error?: { type: string; message: string };
}

test('[GW20] healthz and readyz say only ok or not, without credentials', async () => {
  let isReady = false;
  let isStoreThere = false;
  const own = await startGateway({
    health: { isReady: () => isReady, probe: () => Promise.resolve(isStoreThere) },
  });
  const get = async (path: string) => {
    const response = await fetch(own.url + path);
    return [response.status, await response.text()];
  };
  assert.deepEqual(await get('/healthz'), [200, '{"ok":true}']);
  assert.deepEqual(await get('/readyz'), [503, '{"ok":false}']);
  isReady = true;
  assert.deepEqual(await get('/readyz'), [503, '{"ok":false}'], 'the store does not answer');
  isStoreThere = true;
  assert.deepEqual(await get('/readyz'), [200, '{"ok":true}']);
  await own.gateway.close();
});

test('[GW21] tools.invoke over HTTP has the JSON of the tool as result', async () => {
  const body = JSON.stringify({ tool: 'sessions_list', args: { limit: 2 }, idempotencyKey: 'k' });
  const { status, json } = await post(door, { body });
  assert.equal(status, 200);
  assert.deepEqual(json, {
    ok: true,
    result: {
      tool: 'sessions_list',
      args: { limit: 2 },
      caller: {
        type: 'session',
        sessionKey: 'agent:main:main',
        agentId: 'main',
        idempotencyKey: 'k',
      },
    },
  });
});

test('[WT13] a tool call over HTTP is told when whoever made it has gone', async () => {
  const called = Promise.withResolvers<AbortSignal | undefined>();
  const own = await startGateway({
    invokeTool: ({ caller: { gone } }) => {
      called.resolve(gone);
      return once(gone ?? new AbortController().signal, 'abort');
    },
  });
  const leave = new AbortController();
  const init = { method: 'POST', headers: bearer, body: list, signal: leave.signal };
  const left = assert.rejects(fetch(`${own.url}/tools/invoke`, init), { name: 'AbortError' });
  const gone = await called.promise;
  assert.equal(gone?.aborted, false);
  const told = once(gone, 'abort');
  leave.abort();
  await Promise.all([left, told]);
  await own.gateway.close();
});

test('[GW39] requests that are not answered yet are bounded, and one that is gone counts no more', async () => {
  const called = Promise.withResolvers<void>();
  let isHeld = true;
  const own = await startGateway({
    limits: { maxHttpRequests: 1 },
    invokeTool: ({ caller: { gone } }) => {
      called.resolve();
      return isHeld ? once(gone ?? new AbortController().signal, 'abort') : Promise.resolve({});
    },
  });
  const leave = new AbortController();
  const init = { method: 'POST', headers: bearer, body: list, signal: leave.signal };
  const left = assert.rejects(fetch(`${own.url}/tools/invoke`, init), { name: 'AbortError' });
  await called.promise;
  const { status, headers, json } = await post(own, { body: list });
  assert.deepEqual([status, json.error?.type], [503, 'unavailable']);
  assert.equal(headers.get('retry-after'), '1');
  assert.equal((await fetch(`${own.url}/healthz`)).status, 200, 'it says that it lives');
  isHeld = false;
  leave.abort();
  await left;
  // the second is let in only if the first, answered, counts no more
  for (let turn = 0; turn < 2; turn += 1) while ((await post(own, { body: list })).status === 503);
  await own.gateway.close();
});

test('[GW21] a refusal of the tool itself is 200', async () => {
  const refusal = { status: 'forbidden', error: 'not visible' };
  const own = await startGateway({ invokeTool: async () => refusal });
  const { status, json } = await post(own, { body: list });
  assert.deepEqual([status, json], [200, { ok: true, result: refusal }]);
  await own.gateway.close();
});

const refusals: {
  title: string;
  init: Parameters<typeof post>[1];
  status: number;
  type: string;
}[] = [
  {
    title: 'no credentials',
    init: { headers: { Authorization: '' }, body: list },
    status: 401,
    type: 'unauthorized',
  },
  {
    title: 'a wrong token',
    init: { headers: { Authorization: 'Bearer x' }, body: list },
    status: 401,
    type: 'unauthorized',
  },
  {
    title: 'another scheme',
    init: { headers: { Authorization: `Basic ${TOKEN}` }, body: list },
    status: 401,
    type: 'unauthorized',
  },
  {
    title: 'a token in the address',
    init: { path: `/tools/invoke?token=${TOKEN}`, body: list },
    status: 400,
    type: 'invalid_request',
  },
  {
    title: 'a foreign page',
    init: { headers: { Origin: 'https://evil.example' }, body: list },
    status: 403,
    type: 'forbidden',
  },
  { title: 'no body', init: {}, status: 400, type: 'invalid_request' },
  { title: 'no JSON', init: { body: 'tool=x' }, status: 400, type: 'invalid_request' },
  { title: 'a list', init: { body: '[]' }, status: 400, type: 'invalid_request' },
  { title: 'no tool', init: { body: '{}' }, status: 400, type: 'invalid_request' },
  {
    title: 'an unknown field',
    init: { body: '{"tool":"a","arg":{}}' },
    status: 400,
    type: 'invalid_request',
  },
  { title: 'deep nesting', init: { body: '['.repeat(500) }, status: 400, type: 'invalid_request' },
  {
    title: 'an unknown session',
    init: { body: '{"tool":"sessions_list","sessionKey":"no"}' },
    status: 404,
    type: 'not_found',
  },
  {
    title: 'a body above 2 MB',
    init: { body: `{"tool":"${'x'.repeat(2_200_000)}"}` },
    status: 413,
    type: 'too_large',
  },
  {
    title: 'another path',
    init: { path: '/tools/other', body: list },
    status: 404,
    type: 'not_found',
  },
  {
    title: 'healthz by POST',
    init: { path: '/healthz', body: '' },
    status: 405,
    type: 'method_not_allowed',
  },
];
for (const { title, init, status, type } of refusals)
  test(`[GW21] POST with ${title} is ${status} ${type}`, async () => {
    const answer = await post(door, init);
    assert.equal(answer.status, status);
    assert.equal(answer.json.ok, false);
    assert.equal(answer.json.error?.type, type);
    assert.ok(answer.json.error?.message);
    if (status === 401) assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
  });

test('[GW21] other methods than POST are 405 and say which is allowed', async () => {
  const response = await fetch(`${door.url}/tools/invoke`, { headers: bearer });
  assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST']);
});

test('[GW22, BR-072] a read token can neither invoke tools nor write by any path: 403', async () => {
  const own = await startGateway({
    auth: { mode: 'token', token: TOKEN, scopes: ['operator.read'] },
    toolPolicy: { allow: ['sessions_spawn'] },
    isCompletionsOpen: true,
    mcp: { isOpen: () => true, answer: () => Promise.reject(new Error('was asked')) },
  });
  for (const [path, body] of Object.entries({
    '/tools/invoke': '{"tool":"sessions_spawn"}',
    '/mcp': '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    '/v1/chat/completions': '{"model":"trunkline","messages":[{"role":"user","content":"x"}]}',
  })) {
    const { status, json } = await post(own, { path, body });
    assert.deepEqual([status, json.error?.type], [403, 'forbidden'], path);
  }
  assert.deepEqual(own.played.calls, []);
  await own.gateway.close();
});

const policies: { tool: string; allow?: string[]; deny?: string[]; status: number }[] = [
  { tool: 'sessions_list', status: 200 },
  { tool: 'agents_list', status: 200 },
  { tool: 'sessions_spawn', status: 404 },
  { tool: 'sessions_send', status: 404 },
  { tool: ' Sessions_Spawn ', status: 404 },
  { tool: 'exec', status: 404 },
  { tool: 'write', status: 404 },
  { tool: 'sessions_send', allow: ['sessions_send'], status: 200 },
  { tool: 'sessions_spawn', allow: ['sessions_send'], status: 404 },
  { tool: 'sessions_spawn', allow: ['*'], status: 404 },
  { tool: 'sessions_send', allow: ['sessions_send'], deny: ['sessions_send'], status: 404 },
  { tool: 'sessions_list', deny: ['sessions_list'], status: 404 },
  { tool: 'sessions_list', deny: ['*'], status: 404 },
];
for (const { tool, status, ...toolPolicy } of policies)
  test(`[GW22, BR-072] ${tool} with gateway.tools ${JSON.stringify(toolPolicy)} is ${status}`, async () => {
    const own = await startGateway({ toolPolicy });
    assert.equal((await post(own, { body: JSON.stringify({ tool }) })).status, status);
    await own.gateway.close();
  });

test('[GW4] wrong tokens of a page are 429 with Retry-After after a while', async () => {
  const origin = 'https://console.example';
  const own = await startGateway({ allowedOrigins: [origin], rateLimit: { maxAttempts: 2 } });
  const headers = { Origin: origin, Authorization: 'Bearer x' };
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await post(own, { headers, body: list })).status);
  assert.deepEqual(statuses, [401, 401, 429]);
  const locked = await post(own, { headers: { Origin: origin }, body: list });
  assert.equal(locked.headers.get('retry-after'), '300');
  await own.gateway.close();
});

test('[GW24] a fault of ours is 500 and says nothing of its cause', async () => {
  const own = await startGateway({ invokeTool: () => Promise.reject(new Error('secret')) });
  const { status, json } = await post(own, { body: list });
  assert.deepEqual([status, json.error?.type], [500, 'internal']);
  assert.doesNotMatch(JSON.stringify(json), /secret/);
  await own.gateway.close();
});

test('[GW21] a tool that the policy of the session closes is 404', async () => {
  const closed = new GatewayError('unknown_name', 'the tool read is not available');
  const own = await startGateway({ invokeTool: () => Promise.reject(closed) });
  assert.equal((await post(own, { body: list })).status, 404);
  await own.gateway.close();
});

test('[GW23] a draining gateway refuses calls with 503', async () => {
  const own = await startGateway();
  own.gateway.drain('restart');
  const { status, json, headers } = await post(own, { body: list });
  assert.deepEqual(
    [status, json.error?.type, headers.get('retry-after')],
    [503, 'unavailable', '1'],
  );
  await own.gateway.close();
});

test('a busy port is one clear error', async () => {
  await assert.rejects(startGateway({ port: door.port }), (error: GatewayError) => {
    assert.equal(error.code, 'config');
    assert.match(error.message, new RegExp(`port ${door.port} on 127.0.0.1 is in use`));
    return true;
  });
});
