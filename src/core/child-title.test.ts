import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childTitle } from './child-title.ts';

const CASES: [what: string, task: string, title: string | null][] = [
  ['a short task is its own title', 'Find the oldest date', 'Find the oldest date'],
  ['lines become one', ' Find\n\tthe  date ', 'Find the date'],
  [
    'a long task is cut between words',
    'Read every file of the folder and write down which of them were changed this year',
    'Read every file of the folder and write down which of them …',
  ],
  ['a word that nobody reads is left out', `Use sk-${'x'.repeat(40)} here`, 'Use … here'],
  ['a credential is masked', 'Use AKIAIOSFODNN7EXAMPLE here', 'Use [masked] here'],
  ['a task without a word has none', '…!', null],
];
for (const [what, task, title] of CASES) {
  test(`[SP9, BR-212] ${what}`, () => {
    assert.equal(childTitle(task), title);
  });
}
