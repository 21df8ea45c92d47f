import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AssistantMessage, Message } from '../protocol/message.ts';
import { toPreviewItem } from './preview-item.ts';

const user = (content: string): Message => ({ role: 'user', content, timestamp: 1 });
const assistant = (content: AssistantMessage['content']): Message => ({
  role: 'assistant',
  content,
  api: 'x',
  provider: 'p',
  model: 'm',
  stopReason: 'stop',
  timestamp: 1,
});
const call = (name: string) => ({ type: 'toolCall' as const, id: name, name, arguments: {} });

test('[GW33] a preview has each message in one line of its role, also one without text', () => {
  const image = { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' };
  const result: Message = {
    role: 'toolResult',
    toolCallId: 'c',
    toolName: 'read',
    content: [],
    isError: false,
    timestamp: 1,
  };
  const cases: [Message, string, string][] = [
    [user('  two\n\n lines  '), 'user', 'two lines'],
    [assistant([{ type: 'text', text: 'said' }, call('read')]), 'assistant', 'said'],
    [assistant([call('read'), call('exec'), call('read')]), 'tool', 'calls read, exec'],
    [assistant([{ type: 'thinking', thinking: 'hm' }]), 'assistant', '(no text)'],
    [{ role: 'user', content: [image], timestamp: 1 }, 'user', '(image)'],
    [result, 'tool', 'result of read'],
    [user('x'.repeat(300)), 'user', `${'x'.repeat(39)}…`],
    [user(`${' '.repeat(500)}end`), 'user', 'end'],
    [user(`a${' '.repeat(500)}end`), 'user', 'a…'],
  ];
  for (const [message, role, text] of cases)
    assert.deepEqual(toPreviewItem(message, 40), { role, text });
});

test('[GW33] a preview is never blank and never longer than it may be', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.integer({ min: 20, max: 90 }),
      (text, maxChars) => {
        const item = toPreviewItem(user(text), maxChars);
        assert.ok(item.text.length >= 1 && item.text.length <= maxChars, item.text);
        assert.ok(!/[\n\r]/.test(item.text));
        assert.equal(item.text, item.text.toWellFormed());
      },
    ),
  );
});
