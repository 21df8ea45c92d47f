import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createRunEvents } from '../service/run-events.ts';
import type { FeedMessage } from '../service/sessions/follow-messages.ts';
import { silentLogger } from '../util/logger.ts';
import { createMessageFeeds } from './message-feeds.ts';
import { eventsOf, isEvent, settle, startGateway } from './test-gateway.suite.ts';
import type { TestGateway, TestSocket } from './test-gateway.suite.ts';

/** Plays sessions of that many messages, and counts the reads. */
function play(door: TestGateway, { messages, size = 1 }: { messages: number; size?: number }) {
  const played = { messages, reads: 0, failures: 0 };
  const { services } = door.played;
  services.startFeed = async ({ key, afterSeq = 0 }) => {
    const seq = typeof afterSeq === 'number' ? afterSeq : afterSeq.seq;
    return { sessionKey: key, at: { sessionId: `of ${key}`, seq, startedAt: 0 } };
  };
  services.readFeed = async ({ sessionKey, at }) => {
    played.reads += 1;
    if (played.failures > 0) {
      played.failures -= 1;
      throw new Error('the store is busy');
    }
    const seq = at.seq + 1;
    if (seq > played.messages) return { messages: [], at, hasMore: false };
    const message: FeedMessage = {
      sessionKey,
      sessionId: at.sessionId,
      seq,
      ts: 1,
      message: {
        role: 'user',
        content: 'x'.repeat(size),
        timestamp: 1,
      },
    };
    return { messages: [message], at: { ...at, seq }, hasMore: seq < played.messages };
  };
  return played;
}

const subscribe = (socket: TestSocket, key: string, afterSeq = 0) =>
  socket.request('sessions.messages.subscribe', { key, afterSeq });
const seqsOf = (socket: TestSocket) => eventsOf(socket, 'session.message').map(({ seq }) => seq);
const allOf = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

/** Resolves when the message has come. */
async function told(socket: TestSocket, seq: number): Promise<void> {
  await socket.next((frame): frame is typeof frame & { type: 'event' } => {
    if (!isEvent('session.message')(frame)) return false;
    return (frame.payload as { seq: number }).seq === seq;
  });
}

test('[SB4] a reader that stops reading gets every message when it goes on: it waits for rows, not in memory', async (t) => {
  const door = await startGateway({ limits: { maxBufferedBytes: 2_000_000 } });
  t.after(() => door.gateway.close());
  const played = play(door, { messages: 200, size: 200_000 });
  const slow = await door.connect();
  const quick = await door.connect();
  await subscribe(slow, 'k');
  await told(slow, 1);
  slow.ws.pause();
  // the other reader is served on meanwhile, to its end
  await subscribe(quick, 'k');
  await told(quick, 200);
  assert.ok(played.reads < 400);
  slow.ws.resume();
  await told(slow, 200);
  assert.deepEqual(seqsOf(slow), allOf(200));
  assert.deepEqual(seqsOf(quick), allOf(200));
});

test('[SB4] a connection follows a bounded number of sessions', async (t) => {
  const door = await startGateway({ limits: { maxFeeds: 2 } });
  t.after(() => door.gateway.close());
  play(door, { messages: 0 });
  const socket = await door.connect();
  for (const key of ['a', 'b', 'a']) assert.ok((await subscribe(socket, key)).ok);
  const refused = await subscribe(socket, 'c');
  assert.match(refused.ok ? '' : refused.error.message, /follows 2 sessions.*unsubscribe/);
  await socket.request('sessions.messages.unsubscribe', { key: 'a' });
  assert.ok((await subscribe(socket, 'c')).ok);
});

test('[SB4] readers at the same place share a read', async (t) => {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  const played = play(door, { messages: 0 });
  const sockets = await Promise.all(Array.from({ length: 20 }, () => door.connect()));
  await Promise.all(sockets.map((socket) => subscribe(socket, 'k')));
  await Promise.all(sockets.map(settle));
  const before = played.reads;
  played.messages = 1;
  door.events.emit({ type: 'messages_appended', sessionKey: 'another' });
  door.events.emit({ type: 'messages_appended', sessionKey: 'k' });
  await Promise.all(sockets.map((socket) => told(socket, 1)));
  assert.equal(played.reads - before, 1);
});

test('[SB1] a store that does not answer is asked again, from the same place', async (t) => {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  const played = play(door, { messages: 3 });
  played.failures = 1;
  const socket = await door.connect();
  await subscribe(socket, 'k', 1);
  await settle(socket);
  // signals may have been missed: all look again
  door.events.emit({ type: 'messages_appended' });
  await told(socket, 3);
  assert.deepEqual(seqsOf(socket), [2, 3]);
});

test('[SB4] a connection that is gone reads no more', async (t) => {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  const played = play(door, { messages: 0 });
  const socket = await door.connect();
  const other = await door.connect();
  await subscribe(socket, 'k');
  await settle(socket);
  socket.ws.terminate();
  await socket.closed;
  await settle(other);
  const before = played.reads;
  door.events.emit({ type: 'messages_appended' });
  await settle(other);
  assert.equal(played.reads, before);
});

test('[SB1] a store that does not answer is asked once a second, however often it was asked between', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const events = createRunEvents((error) => assert.fail(String(error)));
  let reads = 0;
  const readFeed = () => Promise.reject(new Error(`the store is busy ${(reads += 1)}`));
  const feeds = createMessageFeeds({
    services: { readFeed },
    events,
    logger: silentLogger,
    maxFeeds: 1,
  });
  t.after(() => feeds.close());
  const start = { sessionKey: 'k', at: { sessionId: 's', seq: 0, startedAt: 0 } };
  feeds.connect({ send: async () => {} }).open(start, { key: 'k' });
  for (const asked of [1, 2, 3, 4]) {
    await setImmediate();
    assert.equal(reads, asked);
    t.mock.timers.tick(200);
    events.emit({ type: 'messages_appended' });
  }
  await setImmediate();
  for (let spent = 0; spent < 2000; spent += 100) {
    t.mock.timers.tick(100);
    await setImmediate();
  }
  assert.equal(reads, 7);
});
