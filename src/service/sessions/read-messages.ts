import { viewHistory } from '../../core/history-view.ts';
import type { HistoryView } from '../../core/history-view.ts';
import { parseStoredMessage } from '../../core/stored-message.ts';
import type { Message } from '../../protocol/message.ts';
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
  /** of the entries that were looked at */
  oldestSeq: number | undefined;
}

/**
 * Returns the newest `limit` messages before `beforeSeq`, without those that cannot be read. Tool
 * results are filtered before the limit counts.
 */
export async function readMessages(
  tx: ReadTx,
  query: {
    sessionId: string;
    includeTools: boolean;
    beforeSeq: number | undefined;
    limit: number;
    onUnreadable: OnUnreadable;
  },
): Promise<FoundMessages> {
  const { onUnreadable, ...tail } = query;
  const entries = await tx.entries.tail(tail);
  const placed = entries.flatMap(({ sessionId, seq, json }) => {
    const message = parseStoredMessage(json);
    if (message !== undefined) return [{ seq, message }];
    onUnreadable({ column: 'entries.json', id: `${sessionId} ${seq}` });
    return [];
  });
  return { placed, looked: entries.length, oldestSeq: entries[0]?.seq };
}

/**
 * Returns the views of several transcripts that fit `maxBytes` together: unchanged while they do,
 * else each within an equal share.
 */
export function viewTogether(
  transcripts: readonly (readonly Message[])[],
  maxBytes: number,
): HistoryView[] {
  const whole = transcripts.map((messages) => viewHistory(messages, Number.POSITIVE_INFINITY));
  const total = whole.reduce((sum, view) => sum + view.bytes, 0);
  if (total <= maxBytes) return whole;
  const share = Math.floor(maxBytes / transcripts.length);
  return transcripts.map((messages) => viewHistory(messages, share));
}
