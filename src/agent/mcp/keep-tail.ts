import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

const MAX_LINES = 5;
const MAX_LINE_LETTERS = 300;

/** Reads a stream to its end and returns how to get its last few lines; the rest is let go. */
export function keepTail(stream: Readable): () => string[] {
  const decoder = new StringDecoder('utf8');
  const lines: string[] = [];
  let open = '';
  const keep = (line: string): void => {
    if (line.trim() === '') return;
    lines.push(line.slice(0, MAX_LINE_LETTERS).toWellFormed());
    if (lines.length > MAX_LINES) lines.shift();
  };
  stream.on('data', (chunk: Buffer) => {
    const parts = (open + decoder.write(chunk)).split('\n');
    open = (parts.pop() ?? '').slice(0, MAX_LINE_LETTERS);
    for (const part of parts.slice(-MAX_LINES)) keep(part);
  });
  // a pipe that breaks has nothing more to say
  stream.on('error', () => {});
  return () => (open.trim() === '' ? [...lines] : [...lines.slice(1 - MAX_LINES), open]);
}
