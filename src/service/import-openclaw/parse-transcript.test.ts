import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseTranscript } from './parse-transcript.ts';
import type { Transcript } from './parse-transcript.ts';
import { linesOf } from './source-files.ts';

const HEADER = {
  type: 'session',
  version: 3,
  id: 'S',
  timestamp: '2026-01-02T03:04:05.000Z',
  cwd: '/',
};
const user = (id: string, parentId: string | null, text: string): object => ({
  type: 'message',
  id,
  parentId,
  timestamp: '2026-01-02T03:04:06.000Z',
  message: { role: 'user', content: text, timestamp: 1 },
});
const parse = (...lines: (object | string)[]): Transcript =>
  parseTranscript(
    linesOf(
      Buffer.from(
        lines
          .map((line) => (typeof line === 'string' ? line : `${JSON.stringify(line)}\n`))
          .join(''),
      ),
    ),
  );
const ids = (transcript: Transcript): string[] => transcript.entries.map((entry) => entry.entryId);

test('the active path is the way from the last entry to the root', () => {
  const transcript = parse(
    HEADER,
    user('a', null, '1'),
    user('b', 'a', 'abandoned'),
    user('c', 'b', 'abandoned too'),
    user('d', 'a', '2'),
  );
  assert.deepEqual(ids(transcript), ['a', 'd']);
  assert.equal(transcript.offPath, 2);
  assert.equal(transcript.startedAt, Date.parse(HEADER.timestamp));
  assert.deepEqual(transcript.problems, []);
});

test('a message is kept as the JSON value it was', () => {
  const message = {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 't', thinkingSignature: 's' },
      { type: 'toolCall', id: 'c', name: 'x', arguments: { a: [1, { b: null }] } },
      { type: 'text', text: 'line\u2028separator \u{1F600}' },
    ],
    api: 'x',
    unknownField: { kept: true },
    timestamp: 7,
  };
  const { entries } = parse({ type: 'message', id: 'm', parentId: null, message });
  assert.equal(entries[0]?.json, JSON.stringify(message));
  assert.equal(entries[0]?.role, 'assistant');
  assert.equal(entries[0]?.createdAt, 7);
});

test('torn, unreadable and odd lines are reported with their number and skipped', () => {
  const transcript = parse(
    HEADER,
    user('a', null, '1'),
    '{"type":"message","id":"x","parentId":"a","mess\n',
    '[1,2]\n',
    '\n',
    { id: 'no-type' },
    user('b', 'x', '2'),
    '{"type":"message","id":"c","parentId":"b","message":{"ro',
  );
  assert.deepEqual(ids(transcript), ['a', 'b']);
  assert.deepEqual(transcript.problems, [
    { line: 3, text: 'unreadable line skipped' },
    { line: 4, text: 'unreadable line skipped' },
    { line: 6, text: 'entry without a type skipped' },
    { line: 7, text: 'its parent is missing; joined to the entry before it' },
    { line: 8, text: 'torn last line skipped' },
  ]);
});

test('a message without the documented shape is kept aside, out of the conversation', () => {
  const odd = [
    { role: 'system', content: 'x' },
    { role: 'user', content: null },
    { role: 'user', content: [{ type: 'text' }] },
    { role: 'assistant', content: 'x' },
    { role: 'assistant', content: [{ type: 'toolCall', id: 'i', name: 'n', arguments: 'x' }] },
    { role: 'toolResult', content: [] },
    'text',
  ];
  const transcript = parse(
    ...odd.map((message, at) => ({ type: 'message', id: `m${at}`, parentId: null, message })),
    user('good', 'm6', 'x'),
  );
  const aside = parse({ type: 'message', id: 'm', parentId: null, message: odd[0] });
  assert.deepEqual(
    aside.entries.map(({ type, role, json }) => [type, role, JSON.parse(json).message]),
    [['unreadable_message', null, odd[0]]],
  );
  assert.equal(transcript.problems.length, odd.length);
});

test('entries without ids follow each other', () => {
  const line = (text: string): object => ({
    type: 'message',
    message: { role: 'user', content: text },
  });
  assert.deepEqual(ids(parse(HEADER, line('1'), line('2'))), ['line-2', 'line-3']);
});

test('parents that run in a circle or repeat an id end at the root', () => {
  assert.deepEqual(ids(parse(user('a', 'b', '1'), user('b', 'a', '2'))), ['a', 'b']);
  assert.deepEqual(ids(parse(user('a', 'a', '1'), user('a', 'a', '2'))), ['a', 'a']);
});

test('a compaction stands in front of the entries that it keeps', () => {
  const compaction = (id: string, parentId: string, firstKeptEntryId: string): object => ({
    type: 'compaction',
    id,
    parentId,
    firstKeptEntryId,
    summary: 's',
  });
  assert.deepEqual(
    ids(
      parse(
        user('a', null, '1'),
        user('b', 'a', '2'),
        user('c', 'b', '3'),
        compaction('k1', 'c', 'c'),
        user('d', 'k1', '4'),
        compaction('k2', 'd', 'b'),
        user('e', 'k2', '5'),
      ),
    ),
    ['a', 'b', 'k1', 'k2', 'c', 'd', 'e'],
  );
  assert.deepEqual(ids(parse(user('a', null, '1'), compaction('k', 'a', 'gone'))), ['a', 'k']);
});

test('no text makes the parser fail, and each path entry comes once', () => {
  const word = fc.constantFrom('a', 'b', 'c', 'k');
  const line = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record({
        type: fc.constantFrom('message', 'compaction', 'session', 'custom', 5),
        id: fc.oneof(word, fc.constant(null)),
        parentId: fc.oneof(word, fc.constant(null)),
        firstKeptEntryId: word,
        message: fc.oneof(fc.jsonValue(), fc.constant({ role: 'user', content: 'x' })),
      })
      .map((entry) => JSON.stringify(entry)),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const transcript = parse(lines.join('\n'));
      assert.equal(new Set(transcript.entries).size, transcript.entries.length);
      for (const entry of transcript.entries) JSON.parse(entry.json);
    }),
  );
});
