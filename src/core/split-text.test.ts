import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
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
