/** Reading another program's folder: regular files below it only, no symlinks, bounded, nothing written. */
import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { codeOf } from '../../util/error-code.ts';

/** Largest file that is read, in bytes. */
const MAX_FILE_BYTES = 1024 * 1024 * 1024;

export type SourceFile =
  | { ok: true; bytes: Buffer }
  | { ok: false; isMissing: boolean; reason: string };

/** Returns the content of a regular file; a symlink, a device or a missing file is a reason. */
export async function readSourceFile(path: string): Promise<SourceFile> {
  try {
    if ((await lstat(path)).isSymbolicLink()) return refused('is a symbolic link; not followed');
    // NONBLOCK: a named pipe must not hang the import.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const file = await open(path, flags);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return refused('is not a regular file');
      if (stat.size > MAX_FILE_BYTES) return refused(`is larger than ${MAX_FILE_BYTES} bytes`);
      return { ok: true, bytes: await file.readFile() };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { ok: false, isMissing: true, reason: 'does not exist' };
    return refused(`cannot be read (${codeOf(error) ?? 'unknown fault'})`);
  }
}

/** Returns the names in a folder by kind, sorted; undefined when it is not a folder of its own. */
export async function listSourceFolder(
  path: string,
): Promise<{ files: string[]; folders: string[]; links: string[] } | undefined> {
  try {
    if (!(await lstat(path)).isDirectory()) return undefined;
    const entries = await readdir(path, { withFileTypes: true });
    const names = (keep: (entry: (typeof entries)[number]) => boolean): string[] =>
      entries
        .filter(keep)
        .map((entry) => entry.name)
        .sort();
    return {
      files: names((entry) => entry.isFile()),
      folders: names((entry) => entry.isDirectory()),
      links: names((entry) => entry.isSymbolicLink()),
    };
  } catch {
    return undefined;
  }
}

/** Yields the lines of a file, from 1. Only a line feed ends one: JSON text may hold any other separator. */
export function* linesOf(
  bytes: Buffer,
): Generator<{ line: number; text: string; isTorn: boolean }> {
  let line = 0;
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0x0a, start);
    line += 1;
    const text = bytes.toString('utf8', start, end < 0 ? bytes.length : end);
    yield { line, text, isTorn: end < 0 };
    start = end < 0 ? bytes.length : end + 1;
  }
}

/** Returns the JSON value of a file, or why there is none. */
export function parseSourceJson(
  bytes: Buffer,
): { ok: true; value: unknown } | { ok: false; reason: string } {
  if (bytes.length === 0) return { ok: false, reason: 'is empty (0 bytes)' };
  try {
    return { ok: true, value: JSON.parse(bytes.toString('utf8')) as unknown };
  } catch {
    return { ok: false, reason: `is not JSON (${bytes.length} bytes; perhaps cut off)` };
  }
}

/** Returns the value when it is a JSON object. */
export function asRecord(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as Record<string, unknown>;
}

function refused(reason: string): SourceFile {
  return { ok: false, isMissing: false, reason };
}
