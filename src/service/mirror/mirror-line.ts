/** The lines of a mirrored transcript: a header, then one entry a line, each naming the one before it (B11.2). */
import { parseStoredObject } from '../../core/stored-message.ts';
import type { EntryRow } from '../../store/transcript-repository.ts';

/** Returns the first line of a transcript file, without its line feed. */
export function headerLine(header: { sessionId: string; startedAt: number; cwd: string }): string {
  const { sessionId, startedAt, cwd } = header;
  const timestamp = new Date(startedAt).toISOString();
  return JSON.stringify({ type: 'session', version: 3, id: sessionId, timestamp, cwd });
}

/** Returns the line of an entry. One that cannot be read keeps its place, so that the chain of parents holds. */
export function entryLine(entry: EntryRow): string {
  const { type, entryId: id, parentId, createdAt, json, seq } = entry;
  const timestamp = new Date(createdAt).toISOString();
  const stored = parseStoredObject(json);
  if (stored === undefined) {
    const data = { seq, type };
    return JSON.stringify({
      type: 'custom',
      id,
      parentId,
      timestamp,
      customType: 'unreadable',
      data,
    });
  }
  const own = { type, id, parentId, timestamp };
  return JSON.stringify(type === 'message' ? { ...own, message: stored } : { ...stored, ...own });
}

/** Returns the sessionId that a first line names, or undefined when it is no header. */
export function sessionIdOf(line: string): string | undefined {
  const header = parseStoredObject(line);
  const id = header?.['type'] === 'session' ? header['id'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

/** Returns the id of the entry on a line, or undefined when the line is none. */
export function entryIdOf(line: string): string | undefined {
  const id = parseStoredObject(line)?.['id'];
  return typeof id === 'string' ? id : undefined;
}
