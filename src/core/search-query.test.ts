import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { findUnits, parseSearchQuery } from './search-query.ts';
import { searchWordsOf } from './search-words.ts';

const unitsOf = (query: string) => {
  const parsed = parseSearchQuery(query);
  return parsed.ok
    ? parsed.units.map(({ terms, isPrefix }) => `${terms.join(' ')}${isPrefix ? '*' : ''}`)
    : parsed.error;
};
const finds = (query: string, text: string): boolean => {
  const parsed = parseSearchQuery(query);
  return parsed.ok && findUnits(parsed.units, searchWordsOf(text)) !== undefined;
};

describe('what a query asks for', () => {
  const CASES: [query: string, units: string[]][] = [
    ['one  Two\tthree', ['one', 'two', 'three']],
    ['"one two" three', ['one two', 'three']],
    ['one"two three"four', ['one', 'two three', 'four']],
    ['"never closed', ['never closed']],
    ['begin* star*in*side', ['begin*', 'star in side']],
    ['"phrase*"', ['phrase']],
    ['a-b user@x.yz', ['a b', 'user x yz']],
    ['NOT a AND NEAR(c d) ^e col:f {g}', ['not', 'a', 'and', 'near c', 'd', 'e', 'col f', 'g']],
    ['東京', ['東京']],
    ['東京都', ['東京 京都']],
    ['都', ['都*']],
    ['"東京都 に"', ['東京 京都 都 に*']],
    ['!! one ??', ['one']],
  ];
  for (const [query, units] of CASES)
    test(`[SR2, SR3] ${query} is ${units.join(' | ')}`, () => {
      assert.deepEqual(unitsOf(query), units);
    });

  test('[SR4] bounds are said, and hold for whatever is given', () => {
    assert.match(String(unitsOf('x'.repeat(257))), /at most 256 characters/);
    assert.match(String(unitsOf('日'.repeat(100))), /at most 64 words/);
    assert.match(String(unitsOf('a-b*')), /at least 3 letters before/);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (query) => {
        const parsed = parseSearchQuery(query);
        if (!parsed.ok) return assert.match(parsed.error, /^query of a search /);
        assert.ok(parsed.units.length <= 16);
        for (const { terms } of parsed.units) {
          assert.ok(terms.length > 0);
          // what every index keeps as it is
          for (const term of terms) assert.match(term, /^[\p{L}\p{N}\p{M}]{1,64}$/u);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('words', () => {
  test('[SR2] a text finds itself, in any case and form', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), (text) => {
        if (!parseSearchQuery(`"${text.replaceAll('"', ' ')}"`).ok) return;
        const query = `"${text.replaceAll('"', ' ')}"`;
        for (const form of ['NFC', 'NFD'] as const)
          assert.ok(finds(query, `before ${text.normalize(form)}; after`), form);
      }),
      { numRuns: 500 },
    );
  });

  test('[SR1] places are those of the text as it was written', () => {
    const text = 'Ｆoo, ﬁne Crème 東京都 ｶﾞ!';
    const shown = searchWordsOf(text).map(({ start, end }) => text.slice(start, end));
    assert.deepEqual(shown, ['Ｆoo', 'ﬁne', 'Crème', '東京', '京都', '都', 'ｶﾞ']);
  });
});
