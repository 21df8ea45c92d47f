/** The published client `@openclaw/gateway-client` against our gateway: protocol 4, without a change to it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from '../helpers/gateway-process.ts';
import { connectOpenClaw, type Json } from './openclaw-client.ts';

const MAIN = 'agent:main:main';

test('[CL9] @openclaw/gateway-client connects with protocol 4, lists, reads, sends, runs an agent, waits, hears events and lives through a restart', async (t) => {
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  const gateway = startGatewayProcess(t, { stateDir });
  const at = await gateway.ready;
  const { request, events, hellos, until, gaps } = await connectOpenClaw(t, { at });
  const messages = (): unknown[] =>
    events.filter(({ event }) => event === 'session.message').map(({ payload }) => payload['seq']);
  assert.deepEqual(
    hellos.map(({ protocol }) => protocol),
    [4],
  );

  const listed = await request('sessions.list', {});
  assert.ok((listed['sessions'] as Json[]).some(({ key }) => key === MAIN));
  await request('sessions.subscribe', {});
  const start = await request('sessions.messages.subscribe', { key: 'main' });
  assert.deepEqual([start['subscribed'], start['key'], start['seq']], [true, MAIN, 0]);

  const send = { sessionKey: 'main', message: 'SAY: hello', idempotencyKey: 'k1' };
  const { runId } = await request('chat.send', send);
  const ended = await request('agent.wait', { runId, timeoutMs: 20_000 });
  assert.deepEqual([ended['status'], ended['reply']], ['ok', 'hello']);
  assert.equal((await request('chat.send', send))['status'], 'ok');

  const run = { sessionKey: MAIN, message: 'SAY: by agent', idempotencyKey: 'k2' };
  const final = await request('agent', run, { expectFinal: true });
  assert.deepEqual(final['result'], { payloads: [{ text: 'by agent' }] });
  await until(() => messages().length === 4);
  assert.ok(events.some(({ event, payload }) => event === 'chat' && payload['state'] === 'final'));
  await request('sessions.patch', { key: 'main', label: 'mine' });
  await until(() => events.some(({ event }) => event === 'sessions.changed'));
  const history = await request('chat.history', { sessionKey: 'main' });
  assert.equal((history['messages'] as Json[]).length, 4);
  await assert.rejects(request('sessions.lst', {}), /nearest: "sessions.list"/);

  await gateway.kill();
  await startGatewayProcess(t, { stateDir, port: at.port }).ready;
  await until(() => hellos.length === 2);
  const { key, sessionId } = start;
  const afterSeq = { sessionId, seq: 3 };
  await request('sessions.messages.subscribe', { key, afterSeq });
  const again = await request('agent', run, { expectFinal: true });
  assert.equal(again['runId'], final['runId']);
  const next = { sessionKey: MAIN, message: 'SAY: after it', idempotencyKey: 'k3' };
  await request('agent', next, { expectFinal: true });
  await until(() => messages().length === 7);
  assert.deepEqual(messages(), [1, 2, 3, 4, 4, 5, 6]);
  assert.equal(gaps(), 0);
});
