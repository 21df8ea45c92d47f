import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import type { ResponseFrame } from '../protocol/frames.ts';
import { isEvent, isResponseTo, settle, startGateway } from './test-gateway.suite.ts';
import type { TestGateway, TestSocket } from './test-gateway.suite.ts';

let door: TestGateway;
before(async () => (door = await startGateway()));
after(() => door.gateway.close());

let keys = 0;
const newKey = () => `key-${++keys}`;
const payloadOf = (response: ResponseFrame) => {
  assert.ok(response.ok, JSON.stringify(response));
  return response.payload as Record<string, unknown>;
};
const errorOf = (response: ResponseFrame) => {
  assert.ok(!response.ok, JSON.stringify(response));
  return response.error;
};
/** Resolves when that many answers to the request have come. */
async function answers(socket: TestSocket, { id, count }: { id: string; count: number }) {
  const seen = () => socket.frames.filter(isResponseTo(id));
  await socket.next(
    (frame): frame is ResponseFrame => isResponseTo(id)(frame) && seen().length >= count,
  );
  return seen().map(payloadOf);
}
function runAgent(socket: TestSocket, { id, key }: { id: string; key: string }) {
  const params = { message: 'hi', idempotencyKey: key };
  socket.send(JSON.stringify({ type: 'req', id, method: 'agent', params }));
}

test('[GW8] each method needs its scope, and the error names it', async () => {
  const reader = await door.connect({ scopes: ['operator.read'] });
  for (const method of ['agent', 'chat.send', 'tools.invoke', 'sessions.patch']) {
    const error = errorOf(await reader.request(method));
    assert.equal(error.code, 'FORBIDDEN');
    const missing = method === 'sessions.patch' ? 'operator.admin' : 'operator.write';
    assert.deepEqual(error.details, {
      code: 'MISSING_SCOPE',
      missingScope: missing,
      requiredScopes: [missing],
    });
  }
  for (const method of ['health', 'status', 'sessions.list', 'agents.list'])
    payloadOf(await reader.request(method));
  const nobody = await door.connect({ scopes: ['operator.pairing'] });
  assert.equal(errorOf(await nobody.request('health')).code, 'FORBIDDEN');
});

test('[GW7] unknown methods and parameters are INVALID_REQUEST and name the nearest known one', async () => {
  const socket = await door.connect();
  const method = errorOf(await socket.request('chat.sent'));
  assert.equal(method.code, 'INVALID_REQUEST');
  assert.match(method.message, /nearest: "chat\.send"/);
  assert.match(
    errorOf(await socket.request('cron.list')).message,
    /cron\.list is not supported yet/,
  );
  const param = errorOf(await socket.request('sessions.list', { limti: 3 }));
  assert.match(param.message, /unknown parameter "limti", nearest: "limit"/);
});

test('[GW9] agent answers twice on one id: accepted at once, then the outcome', async () => {
  const socket = await door.connect();
  runAgent(socket, { id: 'a', key: newKey() });
  const [accepted] = await answers(socket, { id: 'a', count: 1 });
  assert.deepEqual(accepted, {
    runId: 'run-1',
    sessionKey: 'agent:main:main',
    status: 'accepted',
    acceptedAt: 1000,
  });
  door.played.end('run-1', { reply: 'hello', startedAt: 1001, endedAt: 1002 });
  const [, final] = await answers(socket, { id: 'a', count: 2 });
  assert.deepEqual(final, {
    runId: 'run-1',
    sessionKey: 'agent:main:main',
    status: 'ok',
    outcome: 'ok',
    startedAt: 1001,
    endedAt: 1002,
    summary: 'completed',
    result: { payloads: [{ text: 'hello' }] },
  });
});

test('[GW9] a repeat with the same key gets the same two answers, during and after the run', async () => {
  const socket = await door.connect();
  const key = newKey();
  runAgent(socket, { id: 'a', key });
  const [first] = await answers(socket, { id: 'a', count: 1 });
  runAgent(socket, { id: 'b', key });
  assert.deepEqual(await answers(socket, { id: 'b', count: 1 }), [first]);
  const runId = String(first?.['runId']);
  door.played.end(runId, { status: 'error', outcome: 'error', error: 'model failed' });
  const both = await answers(socket, { id: 'a', count: 2 });
  assert.equal(both[1]?.['summary'], 'model failed');
  assert.deepEqual(await answers(socket, { id: 'b', count: 2 }), both);
  runAgent(socket, { id: 'c', key });
  assert.deepEqual(await answers(socket, { id: 'c', count: 2 }), both);
});

test('[GW9] the wait of agent ends with its connection, and another one gets the outcome', async () => {
  const socket = await door.connect();
  runAgent(socket, { id: 'a', key: newKey() });
  const [accepted] = await answers(socket, { id: 'a', count: 1 });
  const runId = String(accepted?.['runId']);
  const signals = door.played.waiting.filter((signal) => !signal.aborted);
  const aborted = new Promise((resolve) => signals.at(-1)?.addEventListener('abort', resolve));
  socket.ws.terminate();
  await aborted;
  const other = await door.connect();
  const waiting = other.request('agent.wait', { runId });
  await settle(other);
  door.played.end(runId, { reply: 'late' });
  assert.equal(payloadOf(await waiting)['reply'], 'late');
});

test('[GW10] chat.send answers started, a repeat in_flight, and ok once the run has ended', async () => {
  const socket = await door.connect();
  const params = { sessionKey: 'main', message: 'hi', idempotencyKey: newKey() };
  const first = payloadOf(await socket.request('chat.send', params));
  assert.equal(first['status'], 'started');
  assert.equal(payloadOf(await socket.request('chat.send', params))['status'], 'in_flight');
  door.played.end(String(first['runId']), { status: 'error', outcome: 'aborted' });
  const last = payloadOf(await socket.request('chat.send', params));
  assert.deepEqual(
    [last['status'], last['outcome'], last['runId']],
    ['ok', 'aborted', first['runId']],
  );
});

test('what agent and chat.send hand on has the units and defaults of the use case', async () => {
  const socket = await door.connect();
  door.played.calls.length = 0;
  const agent = { message: 'a', idempotencyKey: newKey(), timeout: 1.5, agentId: 'main' };
  await socket.request('agent', agent);
  const chat = { sessionKey: 'main', message: 'b', idempotencyKey: newKey(), timeoutMs: 7 };
  await socket.request('chat.send', chat);
  const { timeout: _timeout, ...rest } = agent;
  assert.deepEqual(door.played.calls, [
    { method: 'agent', input: { ...rest, timeoutMs: 1500, deliver: false, method: 'agent' } },
    { method: 'chat.send', input: { ...chat, deliver: true, method: 'chat.send' } },
  ]);
});

test('[GW11, BR-102] agent.wait on an unknown run is an error at once', async () => {
  const socket = await door.connect();
  const error = errorOf(await socket.request('agent.wait', { runId: 'nobody', timeoutMs: 60_000 }));
  assert.equal(error.code, 'INVALID_REQUEST');
  assert.equal(error.details?.['code'], 'NOT_FOUND');
});

test('[GW11] an elapsed agent.wait says where the run is and has no outcome', async () => {
  const socket = await door.connect();
  const params = { sessionKey: 'main', message: 'hi', idempotencyKey: newKey() };
  const { runId } = payloadOf(await socket.request('chat.send', params));
  const answer = payloadOf(await socket.request('agent.wait', { runId, timeoutMs: 0 }));
  assert.deepEqual(
    [answer['status'], answer['messageState'], answer['outcome']],
    ['timeout', 'running', undefined],
  );
});

test('[GW21] tools.invoke acts as the session it names, and has the tool JSON as result', async () => {
  const socket = await door.connect();
  const params = { tool: 'sessions_send', args: { message: 'x' }, idempotencyKey: 'k1' };
  const { ok, result } = payloadOf(await socket.request('tools.invoke', params));
  assert.equal(ok, true);
  assert.deepEqual(result, {
    tool: 'sessions_send',
    args: { message: 'x' },
    caller: {
      type: 'session',
      sessionKey: 'agent:main:main',
      agentId: 'main',
      idempotencyKey: 'k1',
    },
  });
  const unknown = errorOf(
    await socket.request('tools.invoke', { ...params, sessionKey: 'nobody' }),
  );
  assert.equal(unknown.details?.['code'], 'NOT_FOUND');
});

test('[WT13] a tool call is told when the socket that made it has gone', async () => {
  const called = Promise.withResolvers<AbortSignal | undefined>();
  const own = await startGateway({
    invokeTool: ({ caller: { gone } }) => {
      called.resolve(gone);
      return once(gone ?? new AbortController().signal, 'abort');
    },
  });
  const socket = await own.connect();
  void socket.request('tools.invoke', { tool: 'sessions_wait' }).catch(() => {});
  const gone = await called.promise;
  assert.equal(gone?.aborted, false);
  const told = once(gone, 'abort');
  socket.ws.terminate();
  await told;
  await own.gateway.close();
});

test('[GW24] a fault of ours says nothing of its cause to the client, and everything to the log', async () => {
  const logged: unknown[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (fields: object) => logged.push(fields) };
  const own = await startGateway({
    logger: log,
    invokeTool: () => Promise.reject(new Error('secret path /etc/x')),
  });
  const socket = await own.connect();
  const error = errorOf(await socket.request('tools.invoke', { tool: 'x' }));
  assert.equal(error.code, 'INTERNAL');
  assert.doesNotMatch(JSON.stringify(error), /secret/);
  assert.match(String((logged[0] as { err: Error }).err), /secret path/);
  await own.gateway.close();
});

test('[GW23] draining tells the clients, closes 1012, refuses new ones and is not ready', async () => {
  const own = await startGateway();
  const socket = await own.connect();
  own.gateway.drain('restart');
  assert.deepEqual((await socket.next(isEvent('shutdown'))).payload, { reason: 'restart' });
  assert.deepEqual(await socket.closed, { code: 1012, reason: 'restart' });
  await assert.rejects(own.open(), { status: 503 });
  assert.equal((await fetch(`${own.url}/readyz`)).status, 503);
  assert.equal((await fetch(`${own.url}/healthz`)).status, 200);
  await own.gateway.close();
  await own.gateway.close();
  await assert.rejects(own.open());
});
