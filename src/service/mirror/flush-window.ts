/** Bringing one transcript file up to what is committed. The database decides; the file is made from it. */
import type { FileHandle } from 'node:fs/promises';
import type { EntryRow } from '../../store/transcript-repository.ts';
import type { WindowRow } from '../../store/session-repository.ts';
import type { Store } from '../../store/store.ts';
import {
  type FileEnds,
  readEnds,
  removeFile,
  replaceFile,
  withMirrorFile,
  writeLines,
} from './mirror-file.ts';
import { entryIdOf, entryLine, headerLine, sessionIdOf } from './mirror-line.ts';

/** Entries read at a time; a read holds the store's reader. */
const PAGE_ENTRIES = 50;
/** So far back the last line of a file is looked for before the whole window is. */
const NEAR_ENTRIES = 200;

export interface MirroredWindow {
  window: WindowRow;
  path: string;
  /** working folder of the agent, for the header */
  cwd: string;
}
export type FlushResult = 'complete' | 'extended' | 'rewritten';

/**
 * Appends what the file lacks. A file that is not the beginning of its transcript, as after a restore, is
 * kept aside and written anew.
 */
export async function flushWindow(
  store: Store,
  target: MirroredWindow,
  { stamp }: { stamp: string },
): Promise<FlushResult> {
  const { window, path } = target;
  const extended = await withMirrorFile(path, async (file) => {
    const ends = await readEnds(file);
    if (ends.bytes === 0) return undefined;
    const seq = await seqOfLastLine(store, { window, ends });
    if (seq === undefined) return undefined;
    const isComplete = seq >= window.nextSeq - 1 && ends.wholeBytes === ends.bytes;
    if (isComplete) return 'complete' as const;
    await appendEntries(store, { window, file, afterSeq: seq, at: ends.wholeBytes });
    return 'extended' as const;
  });
  if (extended !== undefined) return extended;
  await rewriteWindow(store, target, { stamp });
  return 'rewritten';
}

/** Writes the whole file anew and puts it in place in one step; what stood there is kept aside. */
export async function rewriteWindow(
  store: Store,
  { window, path, cwd }: MirroredWindow,
  { stamp }: { stamp: string },
): Promise<void> {
  const fresh = `${path}.partial`;
  await removeFile(fresh);
  await withMirrorFile(fresh, async (file) => {
    const { sessionId, startedAt } = window;
    const at = await writeLines(file, {
      lines: [headerLine({ sessionId, startedAt, cwd })],
      at: 0,
    });
    await appendEntries(store, { window, file, afterSeq: 0, at });
  });
  await replaceFile(fresh, { path, keptAs: `${path}.replaced.${stamp}` });
}

async function appendEntries(
  store: Store,
  from: { window: WindowRow; file: FileHandle; afterSeq: number; at: number },
): Promise<void> {
  let { afterSeq, at } = from;
  for (;;) {
    const entries = await pageOf(store, from.window.sessionId, afterSeq);
    const last = entries.at(-1);
    if (last === undefined) break;
    at = await writeLines(from.file, { lines: entries.map(entryLine), at });
    afterSeq = last.seq;
  }
  // also when nothing was missing: a torn end goes
  await from.file.truncate(at);
}

/** Returns which entry the file ends with: 0 for a header alone, undefined when it is not of this transcript. */
async function seqOfLastLine(
  store: Store,
  { window, ends }: { window: WindowRow; ends: FileEnds },
): Promise<number | undefined> {
  const { firstLine, lastLine } = ends;
  if (firstLine === undefined || sessionIdOf(firstLine) !== window.sessionId) return undefined;
  if (lastLine === undefined || lastLine === firstLine) return 0;
  const entryId = entryIdOf(lastLine);
  if (entryId === undefined) return undefined;
  if (entryId === window.lastEntryId) return window.nextSeq - 1;
  const near = Math.max(0, window.nextSeq - 1 - NEAR_ENTRIES);
  return (
    (await findEntry(store, { window, entryId, afterSeq: near })) ??
    (near === 0 ? undefined : findEntry(store, { window, entryId, afterSeq: 0 }))
  );
}

async function findEntry(
  store: Store,
  { window, entryId, afterSeq }: { window: WindowRow; entryId: string; afterSeq: number },
): Promise<number | undefined> {
  for (let from = afterSeq; ;) {
    const entries = await pageOf(store, window.sessionId, from);
    const found = entries.find((entry) => entry.entryId === entryId);
    if (found !== undefined) return found.seq;
    const last = entries.at(-1);
    if (last === undefined) return undefined;
    from = last.seq;
  }
}

function pageOf(store: Store, sessionId: string, afterSeq: number): Promise<EntryRow[]> {
  return store.read((tx) => tx.entries.page({ sessionId, afterSeq, limit: PAGE_ENTRIES }));
}
