import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatAge } from './format-age.ts';
import { formatJson } from './format-json.ts';
import { formatMessage } from './format-message.ts';
import { formatTable } from './format-table.ts';
import { oneLine, printable } from './printable.ts';

test('a table is aligned, leaves empty columns out and fits the width', () => {
  const rows = [
    { name: 'a', size: '1', none: '' },
    { name: 'longer\nname', size: '100', none: '' },
  ];
  const columns = [
    { title: 'NAME', value: (row: (typeof rows)[0]) => row.name },
    { title: 'NONE', value: (row: (typeof rows)[0]) => row.none },
    { title: 'SIZE', value: (row: (typeof rows)[0]) => row.size, align: 'right' as const },
  ];
  assert.deepEqual(formatTable(rows, columns), [
    'NAME         SIZE',
    'a               1',
    'longer name   100',
  ]);
  for (const line of formatTable(rows, columns, 8)) assert.ok(line.length <= 8);
});

test('JSON for a reader parses back to the same value and stays in its width where it can', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 10, max: 120 }), (value, width) => {
      assert.deepEqual(JSON.parse(formatJson(value, { width })), JSON.parse(JSON.stringify(value)));
    }),
  );
  const short = formatJson({ a: [1, 2], b: { c: 'x' } }, { width: 80 });
  assert.equal(short, '{ "a": [1, 2], "b": { "c": "x" } }');
  const broken = formatJson({ first: [1, 2], second: 'text' }, { width: 20 });
  assert.equal(broken, '{\n  "first": [1, 2],\n  "second": "text"\n}');
});

test('no control character reaches the terminal, newlines and tabs do', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(printable(text), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
  assert.equal(printable('a\tb\nc\u001b[31m'), 'a\tb\nc\\u001b[31m');
  assert.equal(oneLine(' a\n  b ', 10), 'a b');
  assert.equal(oneLine('abcdef', 4), 'abc…');
});

test('an age is told in its largest unit', () => {
  const now = 10 * 86_400_000;
  const CASES: [ms: number, text: string][] = [
    [0, 'now'],
    [-5000, 'now'],
    [59_999, '59s ago'],
    [60_000, '1m ago'],
    [7_200_000, '2h ago'],
    [3 * 86_400_000, '3d ago'],
  ];
  for (const [ms, text] of CASES) assert.equal(formatAge(now - ms, now), text);
});

test('a message shows who said it, its origin, its tool calls and its error', () => {
  const timestamp = Date.UTC(2026, 0, 2, 3, 4, 5);
  assert.deepEqual(
    formatMessage({
      role: 'user',
      content: 'two\nlines',
      timestamp,
      provenance: { sourceSessionKey: 'agent:a:main' },
    }),
    ['2026-01-02T03:04:05 user from agent:a:main', '  two', '  lines'],
  );
  assert.deepEqual(
    formatMessage({
      role: 'assistant',
      content: [{ type: 'toolCall', name: 'read', arguments: { path: 'x' } }, { type: 'image' }],
      errorMessage: 'gone',
      timestamp,
    }),
    ['2026-01-02T03:04:05 assistant', '  → read {"path":"x"}', '  (image)', '  error: gone'],
  );
  assert.deepEqual(formatMessage({ role: 'toolResult', toolName: 'read', content: [] }), [
    'toolResult read',
  ]);
});
