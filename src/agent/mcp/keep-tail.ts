import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

const MAX_LINES = 5;
/** What is shown of a line. */
const MAX_LINE_LETTERS = 300;
/** What is kept of one, so that a credential at the end of what is shown is there whole, to be masked. */
const MAX_KEPT_LETTERS = 10_000;

/** Reads a stream to its end and returns how to get its last few lines, masked; the rest is let go. */
export function keepTail(stream: Readable, mask: (text: string) => string): () => string[] {
  const decoder = new StringDecoder('utf8');
  const lines: string[] = [];
  let open = '';
  const keep = (line: string): void => {
    if (line.trim() === '') return;
    lines.push(line.slice(0, MAX_KEPT_LETTERS));
    if (lines.length > MAX_LINES) lines.shift();
  };
  stream.on('data', (chunk: Buffer) => {
    const parts = (open + decoder.write(chunk)).split('\n');
    open = (parts.pop() ?? '').slice(0, MAX_KEPT_LETTERS);
    for (const part of parts) keep(part);
  });
  // a pipe that breaks has nothing more to say
  stream.on('error', () => {});
  const shown = (line: string): string => mask(line).slice(0, MAX_LINE_LETTERS).toWellFormed();
  return () =>
    [...lines, open]
      .filter((line) => line.trim() !== '')
      .slice(-MAX_LINES)
      .map(shown);
}
