import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fitsPattern } from './fits-pattern.ts';

test('a pattern fits what the same regular expression fits', () => {
  const text = (letters: string) =>
    fc.string({ unit: fc.constantFrom(...letters.split('')), maxLength: 8 });
  fc.assert(
    fc.property(text('ab*'), text('ab'), (pattern, given) => {
      const same = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
      assert.equal(fitsPattern(pattern, given), same.test(given));
    }),
    { numRuns: 2000 },
  );
});

test('[AC6] what else a regular expression takes is a letter, and many stars cost no more than few', () => {
  assert.equal(fitsPattern('a.c', 'abc'), false);
  assert.equal(fitsPattern('[ab]*', '[ab]c'), true);
  assert.equal(fitsPattern('', 'a'), false);
  assert.equal(fitsPattern(`${'a*'.repeat(10_000)}b`, 'a'.repeat(20_000)), false);
});
