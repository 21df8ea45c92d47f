/** One transcript file. Only its owner may read it; a symbolic link in its place is not followed. */
import { constants } from 'node:fs';
import { copyFile, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const FLAGS = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/** What stands in a file. */
export interface FileEnds {
  /** undefined when there is no whole line */
  firstLine: string | undefined;
  lastLine: string | undefined;
  /** bytes up to the end of the last whole line; what follows is torn */
  wholeBytes: number;
  bytes: number;
}

/** Opens the file, made with its folder when it is not there, and closes it after `use`. */
export async function withMirrorFile<T>(
  path: string,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, FLAGS, 0o600);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Returns the first and the last whole line; the middle is not read. */
export async function readEnds(file: FileHandle): Promise<FileEnds> {
  const { size: bytes } = await file.stat();
  const wholeBytes = await endOfLines(file, bytes);
  if (wholeBytes === 0) return { firstLine: undefined, lastLine: undefined, wholeBytes, bytes };
  const lastStart = await endOfLines(file, wholeBytes - 1);
  return {
    firstLine: await firstLineOf(file, wholeBytes),
    lastLine: await textOf(file, lastStart, wholeBytes - 1),
    wholeBytes,
    bytes,
  };
}

/** Writes the lines at `at` and cuts off what stood behind; returns the new length in bytes. */
export async function writeLines(
  file: FileHandle,
  { lines, at }: { lines: readonly string[]; at: number },
): Promise<number> {
  const data = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  await file.truncate(at);
  let written = 0;
  while (written < data.length) {
    const { bytesWritten } = await file.write(data, written, data.length - written, at + written);
    written += bytesWritten;
  }
  return at + data.length;
}

/** Puts a file that was written anew in place of the old one, which is kept as `keptAs` when anything stands in it. */
export async function replaceFile(
  fresh: string,
  { path, keptAs }: { path: string; keptAs: string },
): Promise<void> {
  const old = await stat(path).catch(() => undefined);
  if (old !== undefined && old.size > 0) await copyFile(path, keptAs);
  await rename(fresh, path);
}

/** Removes a file that was begun by an earlier try. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
}

/** Position behind the last line feed before `end`; 0 when there is none. */
async function endOfLines(file: FileHandle, end: number): Promise<number> {
  for (let to = end; to > 0;) {
    const from = Math.max(0, to - CHUNK_BYTES);
    const at = (await bytesOf(file, from, to)).lastIndexOf(LINE_FEED);
    if (at >= 0) return from + at + 1;
    to = from;
  }
  return 0;
}

async function firstLineOf(file: FileHandle, end: number): Promise<string> {
  for (let to = Math.min(end, CHUNK_BYTES); ; to = Math.min(end, to * 2)) {
    const bytes = await bytesOf(file, 0, to);
    const at = bytes.indexOf(LINE_FEED);
    if (at >= 0 || to === end) return bytes.toString('utf8', 0, at < 0 ? to : at);
  }
}

async function textOf(file: FileHandle, from: number, to: number): Promise<string> {
  return (await bytesOf(file, from, to)).toString('utf8');
}

async function bytesOf(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.alloc(to - from);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
  return buffer.subarray(0, bytesRead);
}
