import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isAnnounceSkip, isReplySkip, mayBecomeSilence, visibleText } from './silence.ts';

const CASES: [id: string, text: string, visible: string | undefined][] = [
  ['BR-037', ' ANNOUNCE_SKIP\n', undefined],
  ['BR-037', 'ANNOUNCE_SKIP because it is late', 'because it is late'],
  ['BR-119', 'NO_REPLY', undefined],
  ['BR-119', 'no_reply', undefined],
  ['BR-119', 'Done NO_REPLY', 'Done'],
  ['BR-198', 'ANNOUNCE_SKIP', undefined],
  ['BR-198', '\nANNOUNCE_SKIP  ', undefined],
  ['BR-198', '`ANNOUNCE_SKIP`', undefined],
  ['BR-198', 'Summary\nANNOUNCE_SKIP', 'Summary'],
  ['BR-198', '```\nREPLY_SKIP\n```', undefined],
  ['BR-198', '**NO_REPLY**', undefined],
  ['BR-215', '', undefined],
  ['BR-215', '  \n', undefined],
  ['A14', 'say NO_REPLY twice NO_REPLY', 'say twice'],
  ['A14', 'NO_NO_REPLY', 'NO_NO_REPLY'],
  ['A14', 'reply_skip', 'reply_skip'],
  ['A14', 'mail no_reply@example.org', 'mail no_reply@example.org'],
  ['A14', 'NO_`NO_REPLY`REPLY', undefined],
  ['A14', 'MY_REPLY_SKIP_FLAG', 'MY_REPLY_SKIP_FLAG'],
  ['A14', '  kept as it is  ', '  kept as it is  '],
];

for (const [id, text, visible] of CASES) {
  test(`[${id}] ${JSON.stringify(text)} shows ${visible === undefined ? 'nothing' : JSON.stringify(visible)}`, () => {
    const expected =
      visible === undefined ? { silent: true, text: '' } : { silent: false, text: visible };
    assert.deepEqual(visibleText(text), expected);
  });
}

const WORDS = ['REPLY_SKIP', 'ANNOUNCE_SKIP', 'NO_REPLY', 'no_reply', 'No_Reply'];

test('[BR-198] no standing silence word is left in any text, and nothing else is taken out', () => {
  const piece = fc.oneof(
    fc.constantFrom(...WORDS, '`', '**', '"', ' ', '\n', '.', 'NO_', 'REPLY', '_', 'x', '@'),
    fc.string({ maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      const shown = visibleText(text);
      assert.doesNotMatch(
        shown.text,
        /(?<![\p{L}\p{N}_])(?:REPLY_SKIP|ANNOUNCE_SKIP|(?i:NO_REPLY))(?![\p{L}\p{N}_]|@[\p{L}\p{N}])/u,
      );
      assert.equal(shown.silent, shown.text.trim() === '');
      assert.deepEqual(visibleText(shown.text), shown);
      if (!/_skip|_reply/i.test(text) && text.trim() !== '') assert.equal(shown.text, text);
    }),
    { numRuns: 500 },
  );
});

test('[BR-037] only the exact whole reply is a skip', () => {
  assert.equal(isReplySkip(' REPLY_SKIP\n'), true);
  assert.equal(isReplySkip('reply_skip'), false);
  assert.equal(isReplySkip('REPLY_SKIP.'), false);
  assert.equal(isAnnounceSkip('\tANNOUNCE_SKIP'), true);
  assert.equal(isAnnounceSkip('ANNOUNCE_SKIP because'), false);
});

test('[BR-119] a streamed beginning of a silence word is held back', () => {
  for (const start of ['', 'N', 'NO', 'no_re', 'NO_REPLY', ' ANNOUNCE_', 'REPLY_SKIP']) {
    assert.equal(mayBecomeSilence(start), true, start);
  }
  for (const start of ['Not', 'NO!', 'announce', 'NO_REPLY but']) {
    assert.equal(mayBecomeSilence(start), false, start);
  }
});

test('[SW1] looking for a silence word costs a long text once, whatever it is made of', () => {
  const runs = [' ', '\t', '*', '`', '"', '* ', 'NO_REPL'].map((unit) => unit.repeat(50_000));
  for (const run of runs) {
    // With an unbounded pattern one of these takes seconds; the runner's own limit would end the file.
    for (const text of [run, `${run}x NO_REPLY`, `NO_REPLY x${run}`]) {
      for (let times = 0; times < 20; times += 1) visibleText(text);
    }
  }
  assert.deepEqual(visibleText(`a ${' '.repeat(100)}NO_REPLY`), { silent: false, text: 'a' });
});
