import { viewHistory } from '../../core/history-view.ts';
import type { HistoryView } from '../../core/history-view.ts';
import { parseStoredMessage } from '../../core/stored-message.ts';
import type { Message } from '../../protocol/message.ts';
import type { EntryRow } from '../../store/transcript-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { OnUnreadable } from '../unreadable-rows.ts';

/** A message as stored, with its place in the transcript. */
export interface PlacedMessage {
  seq: number;
  message: Message;
}

/** What a look into a transcript found. */
export interface FoundMessages {
  /** oldest first */
  placed: PlacedMessage[];
  /** how many entries were looked at, the unreadable ones included */
  looked: number;
  /** of the `limit`, how many of the oldest were left in the store because of their size */
  leftOut: number;
  /** older ones are there, beyond what was looked at */
  hasOlder: boolean;
  /** of the entries that were looked at */
  oldestSeq: number | undefined;
  /** what was read, as it is stored */
  bytes: number;
}

/** Stored bytes that one answer may cost beyond its newest message. Only the store knows sizes for free. */
export const READ_MAX_BYTES = 4 * 1024 * 1024;
/** Of one query, unless one message is larger: between two the event loop has its turn. */
const QUERY_MAX_BYTES = 256 * 1024;

/**
 * Returns the newest `limit` messages before `beforeSeq`, without those that cannot be read. Tool
 * results are filtered before the limit counts. Only the newest is read whatever its size; older
 * ones while the whole stays within `maxBytes`; none when that is used up.
 */
export async function readMessages(
  tx: ReadTx,
  query: {
    sessionId: string;
    includeTools: boolean;
    beforeSeq: number | undefined;
    limit: number;
    maxBytes: number;
    onUnreadable: OnUnreadable;
  },
): Promise<FoundMessages> {
  const { onUnreadable, maxBytes, ...tail } = query;
  const sizes = await tx.entries.tailSizes({ ...tail, limit: tail.limit + 1 });
  const { count, bytes } = countWithin(sizes.slice(0, tail.limit), maxBytes);
  const parts: PlacedMessage[][] = [];
  let oldestSeq: number | undefined;
  let at = 0;
  while (at < count) {
    const limit = Math.max(1, countWithin(sizes.slice(at, count), QUERY_MAX_BYTES).count);
    const entries = await tx.entries.tail({
      ...tail,
      beforeSeq: oldestSeq ?? tail.beforeSeq,
      limit,
    });
    parts.push(entries.flatMap((entry) => parseEntry(entry, onUnreadable)));
    oldestSeq = sizes[at + limit - 1]?.seq;
    at += limit;
  }
  return {
    placed: parts.reverse().flat(),
    looked: count,
    leftOut: Math.min(sizes.length, tail.limit) - count,
    hasOlder: sizes.length > count,
    oldestSeq,
    bytes,
  };
}

function parseEntry(
  { sessionId, seq, json }: EntryRow,
  onUnreadable: OnUnreadable,
): PlacedMessage[] {
  const message = parseStoredMessage(json);
  if (message !== undefined) return [{ seq, message }];
  onUnreadable({ column: 'entries.json', id: `${sessionId} ${seq}` });
  return [];
}

/** Returns how many of the first fit together, and their bytes; one is taken whatever its size. */
export function countWithin(
  sizes: readonly { bytes: number }[],
  maxBytes: number,
): { count: number; bytes: number } {
  let bytes = 0;
  if (maxBytes <= 0) return { count: 0, bytes };
  for (const [count, size] of sizes.entries()) {
    if (count > 0 && bytes + size.bytes > maxBytes) return { count, bytes };
    bytes += size.bytes;
  }
  return { count: sizes.length, bytes };
}

/** The messages of one session, and whether the reader is not shown credentials in them. */
export interface ShownTranscript {
  messages: readonly Message[];
  isMasked: boolean;
}

/**
 * Returns the views of several transcripts that fit `maxBytes` together: unchanged while they do,
 * else each within an equal share.
 */
export function viewTogether(
  transcripts: readonly ShownTranscript[],
  maxBytes: number,
): HistoryView[] {
  const whole: HistoryView[] = [];
  let total = 0;
  for (const { messages, isMasked } of transcripts) {
    const view = viewHistory(messages, { maxBytes: maxBytes - total, isMasked });
    total += view.bytes;
    if (view.truncated || total > maxBytes) break;
    whole.push(view);
  }
  if (whole.length === transcripts.length) return whole;
  const share = Math.floor(maxBytes / transcripts.length);
  return transcripts.map(({ messages, isMasked }) =>
    viewHistory(messages, { maxBytes: share, isMasked }),
  );
}
