import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectGateway } from '../client/gateway-client.ts';
import { waitForRun } from '../client/wait-for-run.ts';
import type { GatewayError } from '../protocol/errors.ts';
import { TOKEN, startGateway } from './test-gateway.suite.ts';

const isError = (code: string, says: RegExp) => (error: GatewayError) => {
  assert.equal(error.code, code, error.message);
  assert.match(error.message, says);
  return true;
};

test('[GW26] the client connects, requests and closes', async () => {
  const door = await startGateway();
  for (const url of [door.url, `ws://127.0.0.1:${door.port}`]) {
    const client = await connectGateway({ url, token: TOKEN });
    assert.equal(client.hello.protocol, 4);
    assert.deepEqual(await client.request('agents.list'), {
      defaultId: 'main',
      mainKey: 'main',
      scope: 'per-sender',
      agents: [{ id: 'main' }],
    });
    await assert.rejects(client.request('sessions.lst'), isError('unknown_name', /nearest/));
    assert.equal((await client.close()).code, 1000);
    assert.equal(client.isOpen, false);
    await assert.rejects(client.request('health'), { code: 'unavailable' });
  }
  await door.gateway.close();
});

test('[GW26] a wrong token, a missing one and a dead gateway are told apart', async () => {
  const door = await startGateway();
  await assert.rejects(
    connectGateway({ url: door.url, token: 'x' }),
    isError('unauthorized', /token is wrong/),
  );
  await assert.rejects(connectGateway({ url: door.url }), isError('unauthorized', /needs a token/));
  await assert.rejects(
    connectGateway({ url: door.url, token: TOKEN, protocol: 9 }),
    isError('invalid_request', /protocol version/),
  );
  await door.gateway.close();
  await assert.rejects(
    connectGateway({ url: door.url, token: TOKEN }),
    isError('unavailable', /cannot connect.*trunkline gateway/),
  );
  await assert.rejects(
    connectGateway({ url: 'nowhere' }),
    isError('invalid_request', /"nowhere" is not the address/),
  );
});

test('[GW26] runAgent tells of the acceptance and resolves with the outcome; events arrive meanwhile', async () => {
  const door = await startGateway();
  const client = await connectGateway({ url: door.url, token: TOKEN });
  const seen: string[] = [];
  const stop = client.on(({ event }) => seen.push(event));
  const final = await client.runAgent(
    { message: 'hi', idempotencyKey: 'k' },
    {
      onAccepted: ({ runId, sessionKey }) => {
        door.events.emit({ type: 'started', runId, sessionKey, startedAt: 1, attempt: 1 });
        door.played.end(runId, { reply: 'hello' });
      },
    },
  );
  assert.deepEqual([final.status, final.result.payloads], ['ok', [{ text: 'hello' }]]);
  assert.deepEqual(seen, ['agent']);
  stop();
  await client.close();
  await door.gateway.close();
});

test('[GW26] requests that are open when the gateway goes away are rejected, with its reason', async () => {
  const door = await startGateway();
  const client = await connectGateway({ url: door.url, token: TOKEN });
  const run = client.runAgent(
    { message: 'hi', idempotencyKey: 'k' },
    { onAccepted: () => door.gateway.drain('restart') },
  );
  await assert.rejects(run, isError('unavailable', /1012 restart/));
  assert.deepEqual(await client.closed, { code: 1012, reason: 'restart' });
  await door.gateway.close();
});

test('[GW26, BR-100] waitForRun lives through lost connections; two waiters get one answer', async () => {
  const door = await startGateway();
  const starter = await connectGateway({ url: door.url, token: TOKEN });
  const { runId } = await starter.request<{ runId: string }>('chat.send', {
    sessionKey: 'main',
    message: 'hi',
    idempotencyKey: 'k',
  });
  const waits = [1, 2].map(() =>
    waitForRun({ url: door.url, token: TOKEN }, { runId, timeoutMs: 30_000 }),
  );
  await Promise.race([door.played.whenWaiting(2), Promise.all(waits)]);
  // the gateway goes away and comes back on the same port
  await door.gateway.close();
  const again = await startGateway({ port: door.port });
  await again.played.services.acceptMessage(
    { type: 'operator', scopes: [] },
    { message: 'hi', method: 'chat.send', deliver: true, idempotencyKey: 'k' },
  );
  await Promise.race([again.played.whenWaiting(2), Promise.all(waits)]);
  again.played.end(runId, { reply: 'late' });
  const [first, second] = await Promise.all(waits);
  assert.deepEqual([first?.status, first?.reply], ['ok', 'late']);
  assert.deepEqual(second, first);
  await again.gateway.close();
});

test('[GW26] waitForRun gives up at its deadline, and at once where waiting cannot help', async () => {
  const door = await startGateway();
  const connect = { url: door.url, token: TOKEN };
  await assert.rejects(waitForRun(connect, { runId: 'nobody', timeoutMs: 60_000 }), {
    code: 'not_found',
  });
  await assert.rejects(waitForRun({ ...connect, token: 'x' }, { runId: 'r', timeoutMs: 60_000 }), {
    code: 'unauthorized',
  });
  await door.gateway.close();
  await assert.rejects(waitForRun(connect, { runId: 'r', timeoutMs: 100 }), {
    code: 'unavailable',
  });
});

test('[GW26] a request without answer ends at its own limit', async () => {
  const door = await startGateway();
  const client = await connectGateway({ url: door.url, token: TOKEN });
  const { runId } = await client.request<{ runId: string }>('agent', {
    message: 'm',
    idempotencyKey: 'k',
  });
  await assert.rejects(
    client.request('agent.wait', { runId }, { timeoutMs: 5 }),
    isError('unavailable', /agent\.wait was not answered within 5 ms/),
  );
  await client.close();
  await door.gateway.close();
});
