import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { AssistantMessage } from '../protocol/message.ts';
import { sha256Of } from './attachments.ts';
import { redactAttachments, withoutAttachmentContents } from './redact-attachments.ts';

const SECRET = 'canary-9d1c';

function calling(name: string, args: Record<string, unknown>): AssistantMessage {
  return {
    role: 'assistant',
    content: [
      { type: 'text', text: 'here' },
      { type: 'toolCall', id: 'c1', name, arguments: args },
    ],
    api: 'x',
    provider: 'x',
    model: 'x',
    stopReason: 'toolUse',
    timestamp: 1,
  };
}

test('[AT6] of an attachment its name, size, hash and type are kept', () => {
  const content = Buffer.from(SECRET);
  const facts = { bytes: content.length, sha256: sha256Of(content) };
  const given = [
    { name: 'a', content: SECRET, mimeType: 'text/plain' },
    { name: 'b', content: content.toString('base64'), encoding: 'base64' },
  ];
  const kept = [
    { name: 'a', ...facts, mimeType: 'text/plain' },
    { name: 'b', ...facts },
  ];
  assert.deepEqual(redactAttachments(given), kept);
  const message = withoutAttachmentContents(
    calling('sessions_spawn', { task: 't', attachments: given }),
  );
  assert.deepEqual(message.content, [
    { type: 'text', text: 'here' },
    {
      type: 'toolCall',
      id: 'c1',
      name: 'sessions_spawn',
      arguments: { task: 't', attachments: kept },
    },
  ]);
});

test('[AT6] a message without attachments is the same one', () => {
  for (const message of [
    calling('sessions_spawn', { task: 't' }),
    calling('write', { path: 'a', content: 'x', attachments: [{ name: 'a', content: 'x' }] }),
  ]) {
    assert.equal(withoutAttachmentContents(message), message);
  }
});

test('[AT6] whatever a model writes as attachments, nothing of a content is left', () => {
  const leaf = fc.constantFrom<unknown>(SECRET, `x${SECRET}`, 1, null, { content: SECRET });
  const item = fc.oneof(
    leaf,
    fc.dictionary(fc.constantFrom('content', 'data', 'encoding', 'text', 'body'), leaf),
    fc.array(leaf),
  );
  const parameter = fc.constantFrom('attachments', 'attachment', 'Attachments', 'attached');
  const tool = fc.constantFrom('sessions_spawn', 'Sessions_Spawn', ' sessions_spawn');
  fc.assert(
    fc.property(tool, parameter, fc.oneof(item, fc.array(item)), (name, key, value) => {
      const message = withoutAttachmentContents(calling(name, { task: 't', [key]: value }));
      assert.ok(!JSON.stringify(message).includes(SECRET), JSON.stringify(message));
    }),
  );
  const unparsed = { invalidJson: `Unexpected token, "...${SECRET}" is not valid JSON` };
  assert.ok(
    !JSON.stringify(withoutAttachmentContents(calling('sessions_spawn', unparsed))).includes(
      SECRET,
    ),
  );
});
