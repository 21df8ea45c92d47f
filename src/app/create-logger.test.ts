import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskLine } from './create-logger.ts';

const TOKEN = `ghp_${'aB3dE5gH'.repeat(5)}`;
const CASES: [what: string, said: object, masked: object][] = [
  ['a message', { msg: `no ${TOKEN}` }, { msg: 'no [masked]' }],
  [
    'an error, its stack and its causes',
    { err: { message: TOKEN, stack: `Error: ${TOKEN}\n at x`, cause: { message: TOKEN } } },
    {
      err: { message: '[masked]', stack: 'Error: [masked]\n at x', cause: { message: '[masked]' } },
    },
  ],
  ['a field, behind a line break too', { why: `a\n${TOKEN}` }, { why: 'a\n[masked]' }],
  ['a configured secret by its value', { list: ['is hunter2"2'] }, { list: ['is [masked]'] }],
  ['a field under the name of one', { apiKey: 'short' }, { apiKey: '[masked]' }],
];
for (const [what, said, masked] of CASES)
  test(`[MK6] a line of the log is written without ${what}`, () => {
    const line = `${JSON.stringify({ level: 30, ...said })}\n`;
    assert.equal(maskLine(line, ['hunter2"2']), `${JSON.stringify({ level: 30, ...masked })}\n`);
  });

test('[MK6] a line without a credential is written as it is, a short secret is none', () => {
  const line =
    '{ "level":30,"msg":"store opened","bootId":"0f0e0d0c-0000-4000-8000-00000000000a"}\n';
  assert.equal(maskLine(line, ['store']), line);
});
