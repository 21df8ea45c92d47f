import { viewHistory } from '../../core/history-view.ts';
import type { HistoryView } from '../../core/history-view.ts';
import type { Message } from '../../protocol/message.ts';
import type { EntryRow } from '../../store/rows.ts';
import type { ReadTx } from '../../store/store.ts';

/** A message as stored, with its place in the transcript. */
export interface PlacedMessage {
  seq: number;
  message: Message;
}

/** Returns the newest messages before `beforeSeq`, oldest first. Tool results are filtered before the limit counts. */
export async function readMessages(
  tx: ReadTx,
  query: {
    sessionId: string;
    includeTools: boolean;
    beforeSeq: number | undefined;
    limit: number;
  },
): Promise<PlacedMessage[]> {
  const entries = await tx.entries.tail(query);
  return entries.map(toMessage);
}

function toMessage(entry: EntryRow): PlacedMessage {
  // written by us, in this form (B11.2)
  return { seq: entry.seq, message: JSON.parse(entry.json) as Message };
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
