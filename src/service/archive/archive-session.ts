/** The job `archive-session`: a session whose time has come leaves the lists, or every tool (A21). */
import type { ServiceContext } from '../context.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { releaseAttachments } from '../attachments/release-attachments.ts';
import { armArchiveJob, archiveJobKey } from './archive-clock.ts';
import { appendNotes } from './append-notes.ts';
import { openWorkOf } from './open-work.ts';

/** How long a session whose time has come waits before it is looked at again, while it has open work. */
const LOOK_AGAIN_MS = 60_000;

/**
 * Archives the session, or deletes it when its spawn says so; or moves the job when it is too early, or
 * when there are more notes than one unit appends: then it goes on at once.
 */
export async function archiveSession(context: ServiceContext, key: string): Promise<void> {
  const isClosed = await context.store.write('archive-session', async (tx) => {
    await tx.jobs.remove(archiveJobKey(key));
    const session = await tx.sessions.get(key);
    if (session === undefined || session.archivedAt !== null) return false;
    const dueAt = await dueAtOf(tx, session);
    if (dueAt !== undefined) {
      if (dueAt !== 'never') await armArchiveJob(tx, { key, archiveAt: dueAt });
      return false;
    }
    if (await appendNotes(tx, context, session)) {
      await armArchiveJob(tx, { key, archiveAt: tx.now });
      return false;
    }
    await close(tx, context, session);
    return true;
  });
  if (isClosed) context.events.emit({ type: 'session_changed', sessionKey: key });
}

/** Undefined = now. */
async function dueAtOf(
  tx: WriteTx,
  { key, archiveAt }: SessionRow,
): Promise<number | 'never' | undefined> {
  if (archiveAt === null) return 'never';
  if (archiveAt > tx.now) return archiveAt;
  return (await openWorkOf(tx, key)) === undefined ? undefined : tx.now + LOOK_AGAIN_MS;
}

async function close(tx: WriteTx, context: ServiceContext, { key }: SessionRow): Promise<void> {
  const spawn = await tx.spawns.get(key);
  const isDeleted = spawn?.cleanup === 'delete';
  await tx.sessions.update(key, {
    archiveAt: null,
    archivedAt: tx.now,
    ...(isDeleted ? { deletedAt: tx.now } : {}),
  });
  if (isDeleted) await tx.windows.markDeleted(key, tx.now);
  const { retainOnSessionKeep } = context.config().tools.sessions_spawn.attachments;
  if (isDeleted || !retainOnSessionKeep) await releaseAttachments(tx, key);
  tx.signal({ type: 'session', sessionKey: key });
}
