/** What a subscribed client is sent, in bytes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decode, encode } from 'gpt-tokenizer';
import type { FeedMessage } from '../service/sessions/follow-messages.ts';
import { createTextPacer } from './pace-text.ts';
import { settle, startGateway } from './test-gateway.suite.ts';
import type { TestGateway, TestSocket } from './test-gateway.suite.ts';

const NOW = 1_000_000;
let door: TestGateway;
before(async () => (door = await startGateway({ clock: { now: () => NOW } })));
after(() => door.gateway.close());

const SESSION = 'agent:main:main';
/** A client that watches everything: events of runs and sessions, and the messages of the session. */
async function subscribed(
  protocol: number,
  caps: readonly string[],
): Promise<{ socket: TestSocket; bytes: () => number }> {
  const socket = await door.connect({ minProtocol: protocol, maxProtocol: protocol, caps });
  await socket.request('sessions.subscribe');
  await socket.request('sessions.messages.subscribe', { key: SESSION });
  await settle(socket);
  let bytes = 0;
  socket.ws.on('message', (data: Buffer) => (bytes += data.length));
  return { socket, bytes: () => bytes };
}

let runs = 0;
/** One turn as a gateway tells of it: the message, the text in pieces, the end, the messages as stored. */
function play({ message, pieces }: { message: string; pieces: readonly string[] }): void {
  const at = {
    runId: `0d2a7b1c-5f0e-4e55-9d3c-${String((runs += 1)).padStart(12, '0')}`,
    sessionKey: SESSION,
  };
  const { emit } = door.events;
  emit({ type: 'session_changed', sessionKey: SESSION });
  append({ role: 'user', content: [{ type: 'text', text: message }], timestamp: NOW });
  emit({ ...at, type: 'started', startedAt: NOW, attempt: 1 });
  let text = '';
  for (const delta of pieces) {
    text += delta;
    emit({ ...at, type: 'delta', delta, text, replace: false });
  }
  append({
    role: 'assistant',
    content: [
      {
        type: 'text',
        text,
      },
    ],
    api: 'openai-completions',
    provider: 'fake',
    model: 'fake-1',
    stopReason: 'stop',
    timestamp: NOW,
    usage: {
      input: 1200,
      output: 4e3,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 5200,
      cost: {
        input: 0.001,
        output: 0.01,
        cacheRead: 0,
        cacheWrite: 0,
        total: 0.011,
      },
    },
  });
  emit({
    ...at,
    type: 'ended',
    state: 'ok',
    reply: text,
    startedAt: 1,
    endedAt: NOW,
    delivered: false,
  });
  emit({ type: 'session_changed', sessionKey: SESSION });
}

const transcript: FeedMessage[] = [];
function append(message: FeedMessage['message']): void {
  const seq = transcript.length + 1;
  const sessionId = 'f3b0c1de-7a0d-4e6f-8f0a-1b2c3d4e5f60';
  transcript.push({ sessionKey: SESSION, sessionId, seq, message, ts: NOW });
  door.played.services.startFeed = async () => ({
    sessionKey: SESSION,
    at: { sessionId, seq: transcript.length, startedAt: 0 },
  });
  door.played.services.readFeed = async ({ at }) => {
    const messages = transcript.slice(at.seq);
    return { messages, at: { ...at, seq: transcript.length }, hasMore: false };
  };
  door.events.emit({ type: 'messages_appended', sessionKey: SESSION });
}

/** English prose of that many tokens, in that many pieces, as models stream it. */
function answerOf(tokens: number, count: number): string[] {
  const words =
    'The gateway keeps every session and its transcript in one database, runs the turns of agents on models, and tells whoever watches what happens while it happens. ';
  const all = encode(words.repeat(Math.ceil(tokens / 25))).slice(0, tokens);
  const size = tokens / count;
  return Array.from({ length: count }, (_, n) => decode(all.slice(n * size, (n + 1) * size)));
}

for (const protocol of [3, 4])
  for (const caps of [[], ['tool-events']])
    test(`[GW32] protocol ${protocol}, caps [${caps.join()}]: a one-line turn costs at most 6 KB, a long answer in 200 pieces at most 4 times its text`, async () => {
      append({ role: 'user', content: 'before', timestamp: 1 });
      const { socket, bytes } = await subscribed(protocol, caps);
      play({ message: 'What is the time?', pieces: ['It is ', 'noon.'] });
      await settle(socket);
      await settle(socket);
      const oneLine = bytes();
      assert.ok(oneLine > 1000 && oneLine <= 6 * 1024, `${oneLine} bytes`);
      const pieces = answerOf(4000, 200);
      play({ message: 'Tell me everything.', pieces });
      await settle(socket);
      await settle(socket);
      const times = (bytes() - oneLine) / Buffer.byteLength(pieces.join(''));
      // the text streams, is told whole at its end, and once more as the message that is stored
      assert.ok(times > 2 && times <= 4, `${times} times`);
      socket.ws.terminate();
    });

test('[GW32] pieces are told together, and none is held back for long', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const told: string[] = [];
  const pacer = createTextPacer(({ text }) => told.push(text));
  const add = (text: string, replace = false) =>
    pacer.add({ type: 'delta', runId: 'r', sessionKey: 'k', delta: '', text, replace });
  add('a');
  add('ab');
  add('abc');
  assert.deepEqual(told, ['a']);
  t.mock.timers.tick(300);
  assert.deepEqual(told.splice(0), ['a', 'abc']);
  const long = `abc${'d'.repeat(240)}`;
  add(long.slice(0, 50));
  add(long);
  assert.deepEqual(told.splice(0), [long]);
  t.mock.timers.tick(1000);
  add(`${long}e`);
  pacer.flush('r');
  pacer.flush('r');
  assert.deepEqual(told.splice(0), [`${long}e`]);
  add('anew', true);
  add('anew!');
  pacer.end('r');
  assert.deepEqual(told.splice(0), ['anew', 'anew!']);
  add('another attempt');
  add('another attempt!');
  pacer.close();
  t.mock.timers.tick(1000);
  assert.deepEqual(told, ['another attempt']);
});
