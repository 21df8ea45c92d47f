import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { visibleText } from '../core/silence.ts';
import { createRunText } from './run-text.ts';

/** Streams pieces; returns the steps and what a client has that follows them. */
function stream(pieces: string[]) {
  const run = createRunText();
  const steps = [];
  let shown = '';
  let text = '';
  for (const piece of pieces) {
    text += piece;
    const step = run.advance({ text, replace: false });
    if (step === undefined) continue;
    steps.push(step);
    shown = step.replace ? step.delta : shown + step.delta;
    assert.equal(shown, step.text);
  }
  return { run, steps, shown, text };
}

test('[GW12] pieces join to the text', () => {
  const { steps, shown } = stream(['Hel', 'lo ', 'there']);
  assert.equal(shown, 'Hello there');
  assert.deepEqual(
    steps.map((step) => step.replace),
    [false, false, false],
  );
});

for (const word of ['NO_REPLY', 'no_reply', 'REPLY_SKIP', 'ANNOUNCE_SKIP'])
  test(`[GW16] ${word} never shows while it streams, nor does its beginning`, () => {
    assert.deepEqual(stream(word.split('')).steps, []);
    const after = stream(`All done. ${word}`.split(''));
    for (const step of after.steps) assert.doesNotMatch(step.text, /done\. *[A-Za-z`]/);
  });

test('[GW16] what only looked like a silence word comes later, complete', () => {
  const { shown, run } = stream(['No', ' problem', ', AN', 'NA wrote it. N']);
  assert.equal(shown, 'No problem, ANNA wrote it. ');
  assert.deepEqual(run.finish('No problem, ANNA wrote it. N').delta, 'N');
});

test('[GW13] protocol 3 gets at most three snapshots, whose pieces join too', () => {
  const { steps } = stream(Array.from({ length: 3000 }, () => 'abc '));
  const snapshots = steps.filter((step) => step.snapshotDelta !== undefined);
  assert.equal(snapshots.length, 3);
  assert.equal(snapshots.map((step) => step.snapshotDelta).join(''), snapshots.at(-1)?.text);
});

test('[GW12] a new attempt replaces what was shown', () => {
  const run = createRunText();
  run.advance({ text: 'first try', replace: false });
  assert.deepEqual(run.advance({ text: 'sec', replace: true }), {
    text: 'sec',
    delta: 'sec',
    replace: true,
    snapshotDelta: undefined,
  });
  assert.deepEqual(run.advance({ text: 'second', replace: false })?.delta, 'ond');
});

test('[GW12] a new attempt that begins with silence still replaces once it shows something', () => {
  const run = createRunText();
  run.advance({ text: 'first', replace: false });
  assert.equal(run.advance({ text: 'N', replace: true }), undefined);
  assert.deepEqual(run.advance({ text: 'Nine', replace: false })?.replace, true);
});

test('[GW12, GW16] however a text is cut, a client that follows ends with its visible text', () => {
  const part = fc.constantFrom(
    'NO_REPLY',
    'REPLY_SKIP',
    ' ',
    '\n',
    'NO',
    '_',
    'word',
    '`',
    'AN',
    '.',
    'ü',
    '😀',
  );
  fc.assert(
    fc.property(fc.array(fc.array(part, { maxLength: 3 }), { maxLength: 12 }), (groups) => {
      const { run, shown, text } = stream(groups.map((group) => group.join('')));
      const reply = visibleText(text).text;
      const rest = run.finish(reply);
      assert.equal(rest.replace ? rest.delta : shown + rest.delta, reply);
    }),
    { numRuns: 300 },
  );
});
