import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cleanJson, cleanText } from './clean-text.ts';

describe('cleanText', () => {
  const table: [given: string, expected: string][] = [
    ['plain ✨ 😀', 'plain ✨ 😀'],
    ['a\0b', 'a\uFFFDb'],
    ['\ud83d', '\uFFFD'],
    ['\ude00\ud83d', '\uFFFD\uFFFD'],
    ['\\u0000', '\\u0000'],
  ];
  for (const [given, expected] of table) {
    it(`makes ${JSON.stringify(given)} ${JSON.stringify(expected)}`, () => {
      assert.equal(cleanText(given), expected);
    });
  }
});

describe('cleanJson', () => {
  const table: [given: string, expected: string][] = [
    ['{"a":"b"}', '{"a":"b"}'],
    ['"\\u0000"', '"\uFFFD"'],
    ['"\0"', '"\uFFFD"'],
    ['"\\\\u0000"', '"\\\\u0000"'],
    ['"\\\\\\u0000"', '"\\\\\uFFFD"'],
    ['"\\ud83d\\ude00"', '"\\ud83d\\ude00"'],
    ['"\\uD83D\\uDE00"', '"\\uD83D\\uDE00"'],
    ['"\\ud83d"', '"\uFFFD"'],
    ['"\\ude00\\ud83d"', '"\uFFFD\uFFFD"'],
    ['"\\ud83d\\ud83d\\ude00"', '"\uFFFD\\ud83d\\ude00"'],
    ['"\\ud83d\\n"', '"\uFFFD\\n"'],
    ['"\\u00e9\\u001b"', '"\\u00e9\\u001b"'],
  ];
  for (const [given, expected] of table) {
    it(`makes ${given.replaceAll('\0', '<NUL>')} ${expected}`, () => {
      assert.equal(cleanJson(given), expected);
    });
  }

  it('changes nothing else: the strings read back are the cleaned ones', () => {
    const nasty = fc.string({
      unit: fc.constantFrom('\0', '\ud83d', '\ude00', '\\', '"', 'u', '0', 'd', '8', '\n', 'é'),
      maxLength: 30,
    });
    fc.assert(
      fc.property(nasty, (text) => {
        const cleaned = cleanJson(JSON.stringify({ text }));
        assert.equal(JSON.parse(cleaned).text, cleanText(text));
        assert.ok(cleaned.isWellFormed());
        assert.equal(cleanJson(cleaned), cleaned);
      }),
    );
  });
});
