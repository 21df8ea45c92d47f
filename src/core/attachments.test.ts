import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { must } from '../util/assert.ts';
import { attachmentNameFlaw, foldAttachmentName } from './attachment-names.ts';
import { readAttachments } from './attachments.ts';
import { base64Flaw, decodedBytes } from './base64.ts';

const LIMITS = { maxFiles: 3, maxFileBytes: 8, maxTotalBytes: 12 };
const file = (name: string, content = 'x') => ({ name, content });

function errorOf(given: unknown[], limits = LIMITS): string {
  const read = readAttachments(given, limits);
  assert.equal(read.ok, false, JSON.stringify(given).slice(0, 200));
  return read.ok ? '' : read.error;
}

test('[AT1] what is sound becomes bytes, with their number and hash', () => {
  const given = [
    { name: 'a.txt', content: 'é', mimeType: 'text/plain; charset=utf-8' },
    { name: 'b.bin', content: 'AP8=', encoding: 'base64' },
    { name: 'c', content: '', encoding: null, mimeType: null },
  ];
  const read = readAttachments(given, LIMITS);
  assert.ok(read.ok);
  assert.deepEqual(
    read.files.map(({ name, bytes, mimeType, content }) => [name, bytes, mimeType, [...content]]),
    [
      ['a.txt', 2, 'text/plain; charset=utf-8', [0xc3, 0xa9]],
      ['b.bin', 2, undefined, [0, 255]],
      ['c', 0, undefined, []],
    ],
  );
  for (const { sha256, content } of read.files) {
    assert.equal(sha256, createHash('sha256').update(content).digest('hex'));
  }
  assert.deepEqual(readAttachments(undefined, LIMITS), { ok: true, files: [] });
});

/** Each with the words of its error. */
const FLAWED: [string, unknown[], RegExp][] = [
  ['no object', ['a.txt'], /^attachments\[0\] must be an object/],
  ['a list', [[]], /^attachments\[0\] must be an object/],
  ['nothing', [null], /^attachments\[0\] must be an object/],
  ['no name', [{ content: 'x' }], /attachments\[0\] needs name/],
  ['no content', [{ name: 'a' }], /"a" needs content: .*transcript keeps only its size/],
  ['a number as content', [{ name: 'a', content: 1 }], /needs content/],
  ['an unknown member', [{ ...file('a'), mimetype: 'x' }], /"mimetype", nearest: "mimeType"/],
  ['an unknown encoding', [{ ...file('a'), encoding: 'hex' }], /encoding .*"utf8" or "base64"/],
  ['a type that is none', [{ ...file('a'), mimeType: 'x\n' }], /mimeType/],
  [
    'the same name twice',
    [file('a'), file('b'), file('A')],
    /\[0\] "a" and .*\[2\] "A" have the same/,
  ],
  ['too many', [1, 2, 3, 4].map((n) => file(`${n}`)), /4 files, .*maxFiles is 3/],
  ['one that is too large', [file('a', '123456789')], /9 bytes, .*maxFileBytes is 8/],
  [
    'too much together',
    [file('a', '1234567'), file('b', '123456')],
    /13 bytes .*maxTotalBytes is 12/,
  ],
  ['half a character', [file('a', '\ud800')], /no valid text; send it as base64/],
  ['no base64', [{ ...file('a', 'QQ=\n'), encoding: 'base64' }], /is no base64/],
];

test('[AT2] the first flaw is named, and with it the setting or the member', async (t) => {
  for (const [what, given, text] of FLAWED) {
    await t.test(what, () => assert.match(errorOf(given), text));
  }
});

test('[AT4] a content that is too large is refused before it is decoded', () => {
  // not base64 at all: whoever decoded first would say so
  const content = '!'.repeat(4 * 1024);
  assert.match(errorOf([{ name: 'a', content, encoding: 'base64' }]), /3072 bytes, .*maxFileBytes/);
  const small = { name: 'a', content: '!'.repeat(10), encoding: 'base64' };
  assert.match(errorOf([small, { ...small, name: 'b' }]), /maxTotalBytes/);
});

test('[AT4] base64 is taken in its one strict form, and its size is that of the bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const text = Buffer.from(bytes).toString('base64');
      assert.equal(base64Flaw(text), undefined);
      assert.equal(decodedBytes(text), bytes.length);
    }),
  );
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('A', 'Q', 'x', '/', '+', '-', '_', '=', ' ', '\n') }),
      (text) => {
        const isStrict = Buffer.from(text, 'base64').toString('base64') === text;
        assert.equal(base64Flaw(text) === undefined, isStrict, JSON.stringify(text));
      },
    ),
    { numRuns: 2000 },
  );
});

const BAD_NAMES = [
  '',
  '.',
  '..',
  '...',
  ' ',
  'a/b',
  '../a',
  '/etc/passwd',
  'a\\b',
  'a\0',
  'a\nb',
  'a\u007fb',
  'a\u0085b',
  'a\u2028b',
  'exe.\u202etxt',
  '\ud800',
  '.manifest.json',
  '.MANIFEST.json',
  '.manifest.json.',
  'x'.repeat(256),
  'é'.repeat(128),
];
const GOOD_NAMES = [
  'a',
  '.a',
  'a.',
  'CON',
  'nul.txt',
  'a b',
  ' a',
  'a:b',
  '*',
  '__proto__',
  '.env',
  'manifest.json',
  '文件.md',
  '👩\u200d💻.png',
  'x'.repeat(255),
  `${'é'.repeat(127)}x`,
];

test('[AT3] a name is one of a file in one folder, of 1 to 255 bytes, without control characters', () => {
  for (const name of BAD_NAMES) assert.ok(attachmentNameFlaw(name), JSON.stringify(name));
  for (const name of GOOD_NAMES) assert.equal(attachmentNameFlaw(name), undefined, name);
});

test('[AT3] names that a file system may take for one are the same', () => {
  const same: [string, string][] = [
    ['README', 'readme'],
    ['\u00e9.txt', 'e\u0301.txt'],
    ['\u00c9.txt', 'e\u0301.txt'],
    ['straße', 'STRASSE'],
    ['a', 'a.'],
    ['a', 'a . '],
    ['\u017f', 's'],
  ];
  for (const [a, b] of same) {
    assert.equal(foldAttachmentName(a), foldAttachmentName(b), `${a} ${b}`);
    assert.match(errorOf([file(a), file(b)]), /same name/);
  }
  assert.notEqual(foldAttachmentName('a'), foldAttachmentName('b'));
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (name) => {
      const folded = foldAttachmentName(name);
      for (const other of [
        name.toUpperCase(),
        name.normalize('NFD'),
        name.normalize('NFC'),
        `${name}.`,
      ]) {
        assert.equal(foldAttachmentName(other), folded, JSON.stringify([name, other]));
      }
    }),
  );
});

test('[AT2] whatever is given, it is read or refused with words, and what is read is within the limits', () => {
  const item = fc.oneof(
    fc.anything(),
    fc.record(
      {
        name: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...BAD_NAMES, ...GOOD_NAMES)),
        content: fc.oneof(fc.string({ unit: 'binary' }), fc.base64String()),
        encoding: fc.constantFrom('utf8', 'base64', null, 'x'),
        mimeType: fc.oneof(fc.constant('text/plain'), fc.string()),
      },
      { requiredKeys: ['name', 'content'] },
    ),
  );
  fc.assert(
    fc.property(fc.array(item, { maxLength: 4 }), (given) => {
      const read = readAttachments(given, LIMITS);
      if (!read.ok) return assert.match(read.error, /attachments.*; no child was started$/s);
      assert.equal(read.files.length, given.length);
      const total = read.files.reduce((sum, { content }) => sum + content.length, 0);
      assert.ok(total <= LIMITS.maxTotalBytes && read.files.length <= LIMITS.maxFiles);
      const names = read.files.map(({ name }) => foldAttachmentName(name));
      assert.equal(new Set(names).size, names.length);
      for (const { name, bytes, content } of read.files) {
        assert.equal(attachmentNameFlaw(name), undefined);
        assert.equal(bytes, must(content, 'content').length);
      }
    }),
    { numRuns: 500 },
  );
});
