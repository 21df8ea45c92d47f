import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../util/logger.ts';
import { eventsOf, isEvent, isResponseTo, settle, startGateway } from './test-gateway.suite.ts';

const invalid: { text: string; id?: string; close?: number }[] = [
  { text: 'not json', close: 1007 },
  { text: '[1,2]', close: 1007 },
  { text: '{"type":"res","ok":true}', close: 1007 },
  { text: '['.repeat(1000), close: 1007 },
  { text: '{"type":"req","id":7,"method":"health"}', close: 1007 },
  { text: '{"type":"req","id":"x"}', id: 'x' },
  { text: '{"type":"req","id":"x","method":"health","params":[]}', id: 'x' },
  { text: '{"type":"req","id":"x","method":"health","extra":1}', id: 'x' },
  { text: '{"type":"event","id":"x","method":"health"}', id: 'x' },
];
for (const { text, id, close } of invalid)
  test(`[GW19] ${text.slice(0, 60)} after connect ${close === undefined ? 'is answered' : `closes ${close}`}`, async () => {
    const door = await startGateway();
    const socket = await door.connect();
    socket.send(text);
    if (close !== undefined) assert.equal((await socket.closed).code, close);
    if (id !== undefined) {
      const response = await socket.next(isResponseTo(id));
      assert.equal(response.ok ? '' : response.error.code, 'INVALID_REQUEST');
      await settle(socket);
    }
    await door.gateway.close();
  });

test('[GW19] a field that a frame does not have is named, by its beginning', async () => {
  const door = await startGateway();
  const socket = await door.connect();
  const frame = { type: 'req', id: 'x', method: 'health', ['y'.repeat(3000)]: 1 };
  socket.send(JSON.stringify(frame));
  const response = await socket.next(isResponseTo('x'));
  assert.match(
    response.ok ? '' : response.error.message,
    /^frame: unknown field "y{80}…"; a request is/,
  );
  await door.gateway.close();
});

test('[GW19] binary frames close the socket', async () => {
  const door = await startGateway();
  const socket = await door.connect();
  socket.ws.send(Buffer.from('{}'));
  assert.equal((await socket.closed).code, 1003);
  await door.gateway.close();
});

test('[GW19] two requests may use one id, and answers may come in any order', async () => {
  const door = await startGateway();
  const socket = await door.connect();
  const accepted = await socket.request('agent', { message: 'm', idempotencyKey: 'k' });
  assert.ok(accepted.ok);
  const wait = { type: 'req', id: 'same', method: 'agent.wait', params: { runId: 'run-1' } };
  socket.send(JSON.stringify(wait));
  socket.send(JSON.stringify({ type: 'req', id: 'same', method: 'health' }));
  const first = await socket.next(isResponseTo('same'));
  assert.equal(first.ok && (first.payload as { ok: boolean }).ok, true);
  await door.gateway.close();
});

test('[GW18] a frame above the limit closes 1009', async () => {
  const door = await startGateway({ limits: { maxPayloadBytes: 200_000 } });
  const socket = await door.connect();
  socket.send(' '.repeat(200_001));
  assert.equal((await socket.closed).code, 1009);
  await door.gateway.close();
});

test('[GW18, SB4] a reader that does not read is cut off and told why, others are served on', async () => {
  let isCutOff = false;
  const onCutOff = (): void => {
    isCutOff = true;
    // it reads on at once, so that it gets to the close frame
    slow.ws.resume();
  };
  const door = await startGateway({
    limits: { maxBufferedBytes: 1_000_000 },
    logger: { ...silentLogger, warn: onCutOff },
  });
  const slow = await door.connect();
  const quick = await door.connect();
  slow.ws.pause();
  const text = 'x'.repeat(400_000);
  const at = { runId: 'r', sessionKey: 'agent:main:main' };
  const deliver = () => door.events.emit({ ...at, type: 'chat_delivery', deliveryId: 'd', text });
  // the buffers of the system and of the gateway fill up first
  let sent = 0;
  for (; sent < 200 && !isCutOff; sent += 1) {
    deliver();
    await settle(quick);
  }
  const { code, reason } = await slow.closed;
  assert.deepEqual([code, reason.startsWith('SLOW_READER')], [1008, true]);
  assert.equal(eventsOf(slow, 'chat').length, sent - 1);
  assert.equal(eventsOf(quick, 'chat').length, sent);
  await door.gateway.close();
});

test('[GW18] requests beyond the bound are refused, not queued', async () => {
  const door = await startGateway({ limits: { maxInFlight: 2 } });
  const socket = await door.connect();
  const wait = (id: string, runId: string) =>
    socket.send(JSON.stringify({ type: 'req', id, method: 'agent.wait', params: { runId } }));
  const accepted = await socket.request('chat.send', {
    sessionKey: 'main',
    message: 'm',
    idempotencyKey: 'k',
  });
  assert.ok(accepted.ok);
  wait('1', 'run-1');
  wait('2', 'run-1');
  wait('3', 'run-1');
  const refused = await socket.next(isResponseTo('3'));
  assert.equal(refused.ok ? '' : refused.error.code, 'UNAVAILABLE');
  assert.equal(refused.ok ? '' : refused.error.retryAfterMs, 1000);
  door.played.end('run-1');
  assert.ok((await socket.next(isResponseTo('1'))).ok);
  await settle(socket);
  await door.gateway.close();
});

test('[GW18] connections beyond the bound are refused with 503', async () => {
  const door = await startGateway({ limits: { maxConnections: 1 } });
  const socket = await door.connect();
  await assert.rejects(door.open(), { status: 503 });
  socket.ws.close();
  await socket.closed;
  await door.gateway.close();
});

test('[GW25] ticks tell the time, and seq counts the events of a connection without gaps', async () => {
  const clock = { now: () => 4711 };
  const door = await startGateway({ limits: { tickIntervalMs: 5 }, clock });
  const socket = await door.connect();
  const tick = await socket.next(isEvent('tick'));
  assert.deepEqual(tick.payload, { ts: 4711 });
  door.events.emit({ type: 'session_changed', sessionKey: 'agent:main:main' });
  await socket.next(isEvent('sessions.changed'));
  const seqs = socket.frames.flatMap((frame) => (frame.type === 'event' ? [frame.seq] : []));
  assert.deepEqual(
    seqs,
    seqs.map((_, index) => index + 1),
  );
  await door.gateway.close();
});

test('[GW25] a peer that answers no ping is ended, one that does is kept', async () => {
  const door = await startGateway({ limits: { tickIntervalMs: 5 } });
  const mute = await door.open({}, { autoPong: false });
  const alive = await door.connect();
  await mute.connect();
  assert.equal((await mute.closed).code, 1006);
  await settle(alive);
  await door.gateway.close();
});
