import type { WindowRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';

/**
 * Returns what a session still has to do or is owed, undefined = nothing (A21). Notes do not count:
 * they wait without limit (A12).
 */
export async function openWorkOf(tx: ReadTx, key: string): Promise<string | undefined> {
  const lane = await tx.lanes.get(key);
  if (lane !== undefined && (lane.pending > 0 || lane.currentRunId !== null)) return 'run';
  if ((await tx.exchanges.openOf(key)).length > 0) return 'exchange';
  if (await tx.deliveries.hasOpen(key)) return 'delivery';
  const own = await tx.spawns.get(key);
  if (own !== undefined && own.state !== 'settled') return 'announce';
  if ((await tx.spawns.unsettledOf(key)).length > 0) return 'child';
  return undefined;
}

/** True for a transcript that a run still writes to, and for those of a closed session that has something left to do. */
export async function isInUse(tx: ReadTx, window: WindowRow): Promise<boolean> {
  const { sessionKey, sessionId } = window;
  const session = await tx.sessions.get(sessionKey);
  if (session?.deletedAt === null) {
    const lane = await tx.lanes.get(sessionKey);
    const run = lane?.currentRunId ? await tx.runs.get(lane.currentRunId) : undefined;
    return run?.sessionId === sessionId || session.sessionId === sessionId;
  }
  return (await openWorkOf(tx, sessionKey)) !== undefined;
}
