import { isOperatorNote } from '../../core/operator-note.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { appendNoteText } from './append-input.ts';

/** At the end of one run; the rest stands before the next message. */
const MAX_NOTES = 50;

/**
 * Appends what the operator put in while the session was at work (`chat.inject`). Call it as the owner of
 * its lane, at the end of a run. Notes of sessions stay: they join a turn.
 */
export async function appendLeftNotes(
  tx: WriteTx,
  context: ServiceContext,
  { key: sessionKey, sessionId }: Pick<SessionRow, 'key' | 'sessionId'>,
): Promise<void> {
  const notes = await tx.inputs.pendingNotes(sessionKey, MAX_NOTES);
  const place = { runId: null, sessionKey, sessionId, hops: 0 };
  for (const input of notes.filter(isOperatorNote))
    await appendNoteText(tx, context, { input, run: place });
}
