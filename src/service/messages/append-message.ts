import { randomUUID } from 'node:crypto';
import type { Message } from '../../protocol/message.ts';
import type { WriteTx } from '../../store/store.ts';

/** Appends a message to a transcript and tells, after the commit, whoever follows the session. */
export async function appendMessage(
  tx: WriteTx,
  entry: { sessionKey: string; sessionId: string; runId: string | null; message: Message },
): Promise<void> {
  const { sessionKey, sessionId, runId, message } = entry;
  await tx.entries.append({
    sessionId,
    entryId: randomUUID(),
    type: 'message',
    role: message.role,
    runId,
    json: JSON.stringify(message),
    createdAt: tx.now,
  });
  tx.signal({ type: 'messages', sessionKey });
}
