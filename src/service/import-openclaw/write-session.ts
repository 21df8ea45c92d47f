/** Puts one imported session into the store: its row, its lineage and its whole transcript, or nothing. */
import { kindOf, parseKey } from '../../core/keys.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { Store, WriteTx } from '../../store/store.ts';
import type { TranscriptEntry } from './parse-transcript.ts';
import type { SourceSession } from './source-session.ts';

export interface SessionToWrite {
  session: SourceSession;
  parentKey: string | undefined;
  entries: readonly TranscriptEntry[];
  createdAt: number;
  mainKey: string;
}
export type WriteOutcome =
  | { result: 'taken'; row: SessionRow }
  | { result: 'already_there' }
  | { result: 'left'; reason: string };

/** Returns what became of the session. A second call for the same one changes nothing. */
export function writeSession(store: Store, write: SessionToWrite): Promise<WriteOutcome> {
  return store.write('import-session', async (tx): Promise<WriteOutcome> => {
    const { key, fields } = write.session;
    const window = await tx.windows.get(fields.sessionId);
    if (window?.sessionKey === key) return { result: 'already_there' };
    if (window !== undefined) {
      return { result: 'left', reason: `its sessionId belongs to ${window.sessionKey} here` };
    }
    const row = await toRow(tx, write);
    const existing = await tx.sessions.get(key);
    if (existing === undefined) await tx.sessions.insert(row);
    else if (await isUntouched(tx, existing)) await adopt(tx, { existing, row });
    else {
      const reason = `a session with this key is here already, with sessionId ${existing.sessionId}`;
      return { result: 'left', reason };
    }
    for (const entry of write.entries) {
      await tx.entries.append({ ...entry, sessionId: fields.sessionId, runId: null });
    }
    tx.signal({ type: 'session', sessionKey: key });
    return { result: 'taken', row };
  });
}

async function toRow(tx: WriteTx, write: SessionToWrite): Promise<SessionRow> {
  const { session, parentKey, createdAt, mainKey } = write;
  const { key, agentId, fields } = session;
  const kind = kindOf(key, { mainKey, chatType: fields.chatType });
  const parent = parentKey === undefined ? undefined : await tx.sessions.get(parentKey);
  return {
    ...fields,
    key,
    agentId,
    kind,
    channel: kind === 'group' ? groupChannel(key, fields.channel) : null,
    spawnedBy: parentKey ?? null,
    // Lineage is kept by name where the parent itself did not come along.
    rootKey: parent?.rootKey ?? parentKey ?? key,
    spawnDepth: parentKey === undefined ? 0 : (parent?.spawnDepth ?? 0) + 1,
    createdAt,
    archiveAt: null,
    archivedAt: null,
    deletedAt: null,
  };
}

/** The older form overwrites a group's recorded channel with `webchat` when someone opens it there. */
function groupChannel(key: string, recorded: string | null): string | null {
  const named = parseKey(key).channel ?? null;
  return recorded === null || recorded === 'webchat' ? (named ?? recorded) : recorded;
}

/** The gateway makes main sessions at start; one that nobody has used gives way. */
async function isUntouched(tx: WriteTx, existing: SessionRow): Promise<boolean> {
  if (existing.spawnedBy !== null || existing.archivedAt !== null) return false;
  const window = await tx.windows.get(existing.sessionId);
  if (window !== undefined && window.nextSeq > 1) return false;
  const pending = await tx.inputs.pending(existing.key, 1);
  return pending.length === 0 && ((await tx.lanes.get(existing.key))?.pending ?? 0) === 0;
}

async function adopt(
  tx: WriteTx,
  { existing, row }: { existing: SessionRow; row: SessionRow },
): Promise<void> {
  const { key, spawnedBy: _parent, rootKey: _root, spawnDepth: _depth, ...patch } = row;
  await tx.sessions.update(key, {
    ...patch,
    createdAt: Math.min(existing.createdAt, row.createdAt),
  });
}
