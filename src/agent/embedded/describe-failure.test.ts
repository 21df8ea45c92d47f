import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeFailure } from './describe-failure.ts';

const CASES: [string, { status?: number; retryAfterMs?: number; raw?: string }, string][] = [
  [
    'the body’s message, not the body',
    { status: 429, raw: '429: {"message":"slow","input":"secret prompt"}' },
    'p/m: 429 slow',
  ],
  [
    'a nested message',
    { status: 500, raw: '500 {"error":{"error":{"message":"deep"}}}' },
    'p/m: 500 deep',
  ],
  [
    'a status that the text has already',
    { status: 503, raw: '503 status code (no body)' },
    'p/m: 503 status code (no body)',
  ],
  [
    'a broken body by what stands before it',
    { status: 502, raw: '502: {"message":"tor' },
    'p/m: 502',
  ],
  [
    'a broken connection',
    { raw: 'terminated: other side closed' },
    'p/m: terminated: other side closed',
  ],
  [
    'no status for a stream that broke after 200',
    { status: 200, raw: 'terminated' },
    'p/m: terminated',
  ],
  ['control characters as spaces', { raw: 'a\u0000\nb' }, 'p/m: a b'],
  ['nothing at all', {}, 'p/m: no answer'],
  [
    'the wait that is asked for',
    { status: 429, retryAfterMs: 1_500, raw: 'x' },
    'p/m: 429 x (asks to wait 2 s)',
  ],
  [
    'keys by their look',
    { raw: 'no sk-abcdefghijklmn0p and Bearer abc.def.12345' },
    'p/m: no [masked] and Bearer [masked]',
  ],
  ['the configured key', { raw: 'no hunter2hunter2' }, 'p/m: no [masked]'],
];

describe('describeFailure', () => {
  for (const [title, failure, expected] of CASES) {
    it(`tells ${title}`, () => {
      const text = describeFailure({
        model: 'p/m',
        status: failure.status,
        retryAfterMs: failure.retryAfterMs,
        raw: failure.raw,
        apiKey: 'hunter2hunter2',
      });
      assert.equal(text, expected);
    });
  }

  it('is short whatever the provider says', () => {
    const raw = 'x'.repeat(10_000);
    const text = describeFailure({
      model: 'p/m',
      status: 500,
      retryAfterMs: undefined,
      raw,
      apiKey: undefined,
    });
    assert.ok(text.length < 320);
  });
});
