import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { isNote } from '../runs/accept-run.ts';
import { appendInput } from '../runs/append-input.ts';
import type { ServiceContext } from '../context.ts';

const PAGE = 100;

/**
 * Appends the notes of a session that no turn will take in any more, so that they are in its
 * transcript (A12). Call it when no run waits there.
 */
export async function appendNotes(
  tx: WriteTx,
  context: ServiceContext,
  { key, sessionId }: Pick<SessionRow, 'key' | 'sessionId'>,
): Promise<void> {
  for (;;) {
    const notes = (await tx.inputs.pending(key, PAGE)).filter(isNote);
    if (notes.length === 0) return;
    for (const input of notes) {
      const place = { sessionId, runId: null, rootRunId: input.rootRunId, hops: 0 };
      await appendInput(tx, context, { input, run: place });
      await tx.inputs.markAppended(input.inputId, null, tx.now);
    }
  }
}
