import type { MaintenancePlan } from '../../core/maintenance.ts';
import type { DueCursor, DuePage, WindowRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { isInUse, openWorkOf } from './open-work.ts';

/** Most that one unit looks at. */
const BATCH = 20;
/** Most transcripts of one session. */
const MAX_WINDOWS = 500;

/** What may go, each found by a time of its own. */
export const DUE_KINDS = ['deleted', 'ended', 'archived'] as const;
export type DueKind = (typeof DUE_KINDS)[number];

export interface Condemned {
  /** how many transcripts */
  condemned: number;
  /** where the next page begins, undefined = this was the last */
  next: DueCursor | undefined;
}

/**
 * Hides from everybody what may go by the plan, one page of it. What has open work is passed over, and
 * does not keep what is behind it from its turn.
 */
export async function condemnDue(
  tx: WriteTx,
  plan: MaintenancePlan,
  { kind, after }: { kind: DueKind; after: DueCursor | undefined },
): Promise<Condemned> {
  const at = untilOf(plan, kind);
  if (at === undefined) return { condemned: 0, next: undefined };
  const page = { at, after, limit: BATCH };
  if (kind === 'archived') return deleteArchived(tx, page);
  const due =
    kind === 'deleted' ? await tx.windows.deletedBefore(page) : await tx.windows.endedBefore(page);
  const places = due.map(({ deletedAt, endedAt, sessionId }) => ({
    at: (kind === 'deleted' ? deletedAt : endedAt) ?? 0,
    id: sessionId,
  }));
  return { condemned: await condemn(tx, due), next: nextAfter(places) };
}

function untilOf(plan: MaintenancePlan, kind: DueKind): number | undefined {
  if (kind === 'deleted') return plan.deletedUntil;
  if (!plan.enforces) return undefined;
  return kind === 'ended' ? plan.endedUntil : plan.archivedUntil;
}

function nextAfter(places: readonly DueCursor[]): DueCursor | undefined {
  return places.length < BATCH ? undefined : places.at(-1);
}

async function condemn(tx: WriteTx, windows: readonly WindowRow[]): Promise<number> {
  let condemned = 0;
  for (const window of windows) {
    if (await isInUse(tx, window)) continue;
    await tx.windows.condemn(window.sessionId, tx.now);
    condemned += 1;
  }
  return condemned;
}

/** Archived sessions whose time is over are deleted, with their transcripts. */
async function deleteArchived(tx: WriteTx, page: DuePage): Promise<Condemned> {
  const sessions = await tx.sessions.archivedBefore(page);
  let condemned = 0;
  for (const { key } of sessions) {
    if ((await openWorkOf(tx, key)) !== undefined) continue;
    await tx.sessions.update(key, { deletedAt: tx.now });
    await tx.windows.markDeleted(key, tx.now);
    const ofKey = { sessionKey: key, cursor: undefined, limit: MAX_WINDOWS };
    condemned += await condemn(tx, await tx.windows.ofKey(ofKey));
    tx.signal({ type: 'session', sessionKey: key });
  }
  const places = sessions.map(({ archivedAt, key }) => ({ at: archivedAt ?? 0, id: key }));
  return { condemned, next: nextAfter(places) };
}
