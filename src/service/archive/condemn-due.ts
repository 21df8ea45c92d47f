import type { MaintenancePlan } from '../../core/maintenance.ts';
import type { WindowRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';
import { isInUse, openWorkOf } from './open-work.ts';

/** Most of each kind that one unit takes. */
const BATCH = 20;
/** Most transcripts of one session. */
const MAX_WINDOWS = 500;

/** Hides from everybody what may go by the plan, and returns how many transcripts. Nothing with open work is among them. */
export async function condemnDue(tx: WriteTx, plan: MaintenancePlan): Promise<number> {
  const due = await tx.windows.deletedBefore(plan.deletedUntil, BATCH);
  if (plan.enforces) {
    if (plan.endedUntil !== undefined)
      due.push(...(await tx.windows.endedBefore(plan.endedUntil, BATCH)));
    due.push(...(await deleteArchived(tx, plan.archivedUntil)));
  }
  let condemned = 0;
  for (const window of due) {
    if (await isInUse(tx, window)) continue;
    await tx.windows.condemn(window.sessionId, tx.now);
    condemned += 1;
  }
  return condemned;
}

/** Archived sessions whose time is over are deleted; returns their transcripts. */
async function deleteArchived(tx: WriteTx, until: number): Promise<WindowRow[]> {
  const windows: WindowRow[] = [];
  for (const { key } of await tx.sessions.archivedBefore(until, BATCH)) {
    if ((await openWorkOf(tx, key)) !== undefined) continue;
    await tx.sessions.update(key, { deletedAt: tx.now });
    await tx.windows.markDeleted(key, tx.now);
    windows.push(
      ...(await tx.windows.ofKey({ sessionKey: key, cursor: undefined, limit: MAX_WINDOWS })),
    );
    tx.signal({ type: 'session', sessionKey: key });
  }
  return windows;
}
