import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { visibleText } from './silence.ts';
import { splitText } from './split-text.ts';

test('[DL1, BR-115] every character but white space at the cuts arrives, in order, within the limit', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.integer({ min: 8, max: 60 }),
      (text, max) => {
        const parts = splitText(text, max);
        assert.ok(parts.every((part) => part.length <= max));
        assert.equal(parts.join('').replaceAll(/\s/gu, ''), text.replaceAll(/\s/gu, ''));
        assert.ok(
          parts.every(
            (part) => part.isWellFormed() === text.isWellFormed() || !text.isWellFormed(),
          ),
        );
      },
    ),
  );
});

test('[DL1] a cut prefers a line break, then a space', () => {
  assert.deepEqual(splitText('one two\nthree four', 10), ['one two', 'three four']);
  assert.deepEqual(splitText('abcdefgh ijk', 10), ['abcdefgh', 'ijk']);
  assert.deepEqual(splitText('abcdefghijkl', 10), ['abcdefghij', 'kl']);
  assert.deepEqual(splitText('short', 10), ['short']);
});

test('[DL1] a part is never blank, and a character is never cut in two', () => {
  assert.deepEqual(splitText(`${' '.repeat(30)}x`, 10), ['x']);
  assert.deepEqual(splitText(`abcdef${' '.repeat(30)}`, 10), ['abcdef']);
  assert.deepEqual(splitText('abcdefghi😀jk', 10), ['abcdefghi', '😀jk']);
});

test('[SW2] a cut beside a silence word inside a longer one does not make it stand alone', () => {
  assert.deepEqual(splitText(`${'x'.repeat(64)}NO_REPLY.`, 64), ['x'.repeat(63), 'xNO_REPLY.']);
  const before = `${'x'.repeat(20)}:`;
  assert.deepEqual(splitText(`${before}NO_REPLY${'y'.repeat(20)}`, before.length + 8), [
    `${before}NO_REPL`,
    `Y${'y'.repeat(20)}`,
  ]);
});

test('[SW2] whatever the text, no part of it shows a silence word, within the limit', () => {
  const words = ['REPLY_SKIP', 'ANNOUNCE_SKIP', 'NO_REPLY', 'no_reply', 'No_Reply'];
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...words, ...words.map((word) => `x${word}_`)) },
    fc.constantFrom('`', '**', '"', ' ', '\n', '.', 'NO_', 'REPLY', '_', '@x', '😀'),
    fc.string({ maxLength: 4 }),
    fc.integer({ min: 1, max: 70 }).map((length) => 'z'.repeat(length)),
  );
  const limit = fc.integer({ min: 64, max: 90 });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), limit, (pieces, max) => {
      for (const part of splitText(visibleText(pieces.join('')).text, max)) {
        assert.deepEqual(visibleText(part), { silent: false, text: part });
        assert.ok(part.length <= max);
      }
    }),
    { numRuns: 2000 },
  );
});
