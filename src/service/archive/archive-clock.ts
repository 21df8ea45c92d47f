/**
 * The clock of a sub-agent session (A21). It starts when the child has been announced, and anew at
 * the end of each further run; `sessions.archive_at` has the time, a job per session acts on it.
 */
import type { SessionRow } from '../../store/session-repository.ts';
import type { SpawnRow } from '../../store/follow-up-repository.ts';
import type { WriteTx } from '../../store/store.ts';

const MINUTE_MS = 60_000;

/** Names the job of a session. */
export function archiveJobKey(key: string): string {
  return `archive-session:${key}`;
}

/** Starts the clock of a child that is settled. Call it in the unit that settles it. */
export async function startArchiveClock(tx: WriteTx, spawn: SpawnRow): Promise<void> {
  const archiveAt = dueAfter(spawn, tx.now);
  if (archiveAt === undefined) return;
  const child = await tx.sessions.get(spawn.childKey);
  if (child === undefined || child.archivedAt !== null) return;
  await tx.sessions.update(child.key, { archiveAt });
  await armArchiveJob(tx, { key: child.key, archiveAt });
}

/** A further run has ended: the time begins anew. Does nothing for a session whose clock is not running. */
export async function restartArchiveClock(
  tx: WriteTx,
  { key, archiveAt: before }: Pick<SessionRow, 'key' | 'archiveAt'>,
): Promise<void> {
  if (before === null) return;
  const spawn = await tx.spawns.get(key);
  const archiveAt = spawn === undefined ? undefined : dueAfter(spawn, tx.now);
  if (archiveAt === undefined) return;
  await tx.sessions.update(key, { archiveAt });
  await armArchiveJob(tx, { key, archiveAt });
}

/** Adds the job of a session, or moves it. */
export async function armArchiveJob(
  tx: WriteTx,
  { key, archiveAt }: { key: string; archiveAt: number },
): Promise<void> {
  await tx.jobs.add({
    jobKey: archiveJobKey(key),
    kind: 'archive-session',
    payloadJson: JSON.stringify({ key }),
    runAt: archiveAt,
  });
  tx.signal({ type: 'job' });
}

/** Undefined = never. What is to be deleted is due at once. */
function dueAfter(
  { cleanup, archiveAfterMinutes }: Pick<SpawnRow, 'cleanup' | 'archiveAfterMinutes'>,
  now: number,
): number | undefined {
  if (cleanup === 'delete') return now;
  return archiveAfterMinutes === 0 ? undefined : now + archiveAfterMinutes * MINUTE_MS;
}
