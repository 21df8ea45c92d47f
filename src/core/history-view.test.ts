import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AssistantMessage, Message, UserMessage } from '../protocol/message.ts';
import { HISTORY_MAX_BYTES, viewHistory } from './history-view.ts';

const user = (content: UserMessage['content'], timestamp = 1): Message => ({
  role: 'user',
  content,
  timestamp,
});
const assistant = (text: string, timestamp = 2): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  api: 'scripted',
  provider: 'scripted',
  model: 'scripted',
  stopReason: 'stop',
  timestamp,
});
const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

test('messages that fit come back as they are', () => {
  const messages = [user('hello'), assistant('x'.repeat(60_000))];
  assert.deepEqual(viewHistory(messages), {
    messages,
    truncated: false,
    droppedMessages: 0,
    contentTruncated: false,
    contentRedacted: false,
    bytes: sizeOf(messages),
  });
  assert.deepEqual(viewHistory([]).messages, []);
});

test('[BR-131] long text is cut and image data left out, never the whole message', () => {
  const data = Buffer.alloc(2_000_000).toString('base64');
  const question = user([
    { type: 'text', text: 'hello' },
    { type: 'image', data, mimeType: 'image/png' },
  ]);
  const view = viewHistory([question, assistant('y'.repeat(200_000))]);
  assert.equal(view.messages.length, 2);
  assert.deepEqual(view.messages[0]?.['content'], [
    { type: 'text', text: 'hello' },
    { type: 'image', omitted: true, bytes: 2_000_000, mimeType: 'image/png' },
  ]);
  const text = JSON.stringify(view.messages[1]);
  assert.match(text, /"y{4000}… \[cut: 196000 of 200000 characters\]"/);
  assert.ok(view.bytes <= HISTORY_MAX_BYTES);
  assert.deepEqual([view.truncated, view.contentTruncated, view.droppedMessages], [true, true, 0]);
});

test('[BR-011] the oldest are dropped until the rest fits', () => {
  const messages = Array.from({ length: 50 }, (_, at) => user('z'.repeat(4000), at));
  const view = viewHistory(messages);
  assert.equal(view.truncated, true);
  assert.equal(view.contentTruncated, false);
  assert.equal(view.droppedMessages, 50 - view.messages.length);
  assert.deepEqual(view.messages, messages.slice(view.droppedMessages));
  assert.ok(view.bytes <= HISTORY_MAX_BYTES && view.bytes > HISTORY_MAX_BYTES - 5000);
});

test('[BR-131] a newest message that fits in no way stays as a placeholder, and the view says that it is cut', () => {
  const parts = Array.from({ length: 5000 }, () => ({
    type: 'text' as const,
    text: 'many small parts',
  }));
  const view = viewHistory([user('old'), { ...assistant(''), content: parts }]);
  assert.match(JSON.stringify(view.messages.at(-1)), /message left out: \d+ bytes/);
  const alone = viewHistory([{ ...assistant(''), content: parts }]);
  assert.deepEqual(
    [alone.truncated, alone.contentTruncated, alone.droppedMessages],
    [true, true, 0],
  );
});

test('the view is never above the cap, keeps the order and the newest', () => {
  const text = fc.oneof(
    fc.string(),
    fc.nat({ max: 6000 }).map((length) => '😀'.repeat(length)),
  );
  const message = fc.oneof(
    text.map((content) => user(content)),
    text.map((content) => assistant(content)),
    fc
      .nat({ max: 9000 })
      .map((size) => user([{ type: 'image', data: 'A'.repeat(size), mimeType: 'image/gif' }])),
  );
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 12 }),
      fc.integer({ min: 400, max: 20_000 }),
      (list, cap) => {
        const messages = list.map((item, timestamp) => ({ ...item, timestamp }));
        const view = viewHistory(messages, { maxBytes: cap });
        assert.ok(sizeOf(view.messages) <= cap);
        assert.equal(view.bytes, sizeOf(view.messages));
        assert.deepEqual(
          view.messages.map((shown) => shown['timestamp']),
          messages.slice(view.droppedMessages).map((original) => original.timestamp),
        );
        if (messages.length > 0)
          assert.equal(view.messages.at(-1)?.['timestamp'], messages.length - 1);
        assert.equal(view.truncated, JSON.stringify(view.messages) !== JSON.stringify(messages));
        assert.ok(JSON.stringify(view.messages).isWellFormed());
      },
    ),
  );
});

test('[SH10] large texts are cut before anything is written out', (t) => {
  const stringify = t.mock.method(JSON, 'stringify');
  const view = viewHistory(Array.from({ length: 4 }, (_, at) => user('x'.repeat(2_000_000), at)));
  const written = stringify.mock.calls.reduce((sum, call) => sum + (call.result ?? '').length, 0);
  assert.equal(view.messages.length, 4);
  assert.ok(written < 100_000, `${written} characters of JSON for ${view.bytes} bytes`);
});
