import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeSessionCursor, parseSessionCursor } from './session-cursor.ts';

const POSITION = { updatedAt: 1_700_000_000_000, key: 'agent:main:discord:group:secret' };

test('a cursor comes back as the position it was made from', () => {
  fc.assert(
    fc.property(fc.nat(), fc.string(), fc.string(), (updatedAt, key, secret) => {
      const text = encodeSessionCursor({ updatedAt, key }, secret);
      assert.deepEqual(parseSessionCursor(text, secret), {
        ok: true,
        position: { updatedAt, key },
      });
      assert.equal(encodeSessionCursor({ updatedAt, key }, secret), text);
    }),
  );
});

test('[BR-004] a cursor does not show the key of a row that the reader may not see', () => {
  const text = encodeSessionCursor(POSITION, 's');
  assert.doesNotMatch(Buffer.from(text, 'base64url').toString('latin1'), /secret|agent/);
});

test('a changed cursor, or one of another gateway, is an error value', () => {
  const text = encodeSessionCursor(POSITION, 's');
  assert.equal(parseSessionCursor(text, 'other').ok, false);
  for (let at = 0; at < text.length; at++) {
    const changed = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
    assert.equal(parseSessionCursor(changed, 's').ok, false);
  }
  for (const junk of [
    '',
    'x',
    '!!!',
    `${text}=`,
    `${text}!`,
    text.slice(0, 20),
    '100',
    'ä'.repeat(50),
  ]) {
    const answer = parseSessionCursor(junk, 's');
    assert.ok(!answer.ok);
    assert.match(answer.error, /nextCursor/);
  }
});

test('[FZ2] a sealed cursor that holds something else is no cursor', () => {
  for (const position of [
    { updatedAt: { a: 1 }, key: 'agent:a:main' },
    { updatedAt: 'now', key: 'agent:a:main' },
    { updatedAt: 1.5, key: 'agent:a:main' },
    { updatedAt: 1, key: null },
  ])
    assert.equal(parseSessionCursor(encodeSessionCursor(position as never, 's'), 's').ok, false);
});
