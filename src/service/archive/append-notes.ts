import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { appendNoteText } from '../runs/append-input.ts';
import type { ServiceContext } from '../context.ts';

/** Most notes that one unit appends: a session may have any number of them. */
const PAGE = 100;

/**
 * Appends a page of the notes that no turn will take in any more, so that they are in the transcript
 * of their session (A12); true = more may wait. Call it when no run waits there.
 */
export async function appendNotes(
  tx: WriteTx,
  context: ServiceContext,
  { key, sessionId }: Pick<SessionRow, 'key' | 'sessionId'>,
): Promise<boolean> {
  const notes = await tx.inputs.pendingNotes(key, PAGE);
  for (const input of notes) {
    const place = { sessionKey: key, sessionId, runId: null, hops: 0 };
    await appendNoteText(tx, context, { input, run: place });
  }
  return notes.length === PAGE;
}
