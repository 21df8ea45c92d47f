import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withoutQuotes } from './quote-guard.ts';

const TASK = 'Read the contract of Ms MARKER and list every date that stands in it, oldest first.';

const CASES: [what: string, error: string, told: string][] = [
  ['an error that quotes nothing stays', '429 rate limit reached', '429 rate limit reached'],
  ['a word in common is no quote', '400 cannot list every model', '400 cannot list every model'],
  ['a quote ends it', `400 bad input: ${TASK}`, '400 bad input:…'],
  [
    'a long literal goes, whatever it holds',
    `400 invalid content "${'system prompt '.repeat(5)}" at 3`,
    '400 invalid content "…" at 3',
  ],
  [
    'an apostrophe opens no literal',
    "it's what the service doesn't say when it can't go on at all",
    "it's what the service doesn't say when it can't go on at all",
  ],
];
for (const [what, error, told] of CASES) {
  test(`[AN12, BR-207] ${what}`, () => {
    assert.equal(withoutQuotes(error, TASK), told);
  });
}

test('[AN12, BR-207] no error tells a word of the task that it quotes for 36 characters or more', () => {
  const filler = fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'c', '.'), maxLength: 60 });
  const task = fc.tuple(filler, filler).map(([before, after]) => ({
    text: `${before} xx yy zz qq MARKER-4711 ww vv uu tt ss ${after}`,
  }));
  fc.assert(
    fc.property(
      task,
      filler,
      filler,
      fc.nat(20),
      fc.nat(20),
      ({ text }, before, after, left, right) => {
        const at = text.indexOf('MARKER-4711');
        const quote = text.slice(Math.max(0, at - 13 - left), at + 24 + right);
        const told = withoutQuotes(`400 ${before}${quote}${after}`, text);
        assert.ok(!told.includes('MARKER'), told);
      },
    ),
  );
});
