import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import { keepTail } from './keep-tail.ts';

const SECRET = 'sesame-open-1234567890';
const mask = (text: string): string => text.replaceAll(SECRET, '[masked]');

async function tailOf(...chunks: string[]): Promise<string[]> {
  const stream = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  const lastLines = keepTail(stream, mask);
  await finished(stream);
  return lastLines();
}

test('[MS17] the last lines are kept, with the one that is not ended, and of each the beginning', async () => {
  const lines = ['1', '2', ' ', '3', '4', '5', 'x'.repeat(100_000), 'the end'];
  assert.deepEqual(await tailOf(lines.join('\n')), ['3', '4', '5', 'x'.repeat(300), 'the end']);
});

test('[MS17] empty lines push none of the others out', async () => {
  assert.deepEqual(await tailOf(`cannot start\n${'\n'.repeat(7)}`), ['cannot start']);
});

test('[MS10] a credential is masked also where a line is cut, or comes in pieces', async () => {
  const before = 'x'.repeat(290);
  assert.deepEqual(await tailOf(`${before}${SECRET} and more\n`), [`${before}[masked] a`]);
  assert.deepEqual(await tailOf(before, SECRET.slice(0, 15), SECRET.slice(15)), [
    `${before}[masked]`,
  ]);
});
