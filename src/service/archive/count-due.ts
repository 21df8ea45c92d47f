import type { MaintenancePlan } from '../../core/maintenance.ts';
import type { ReadTx } from '../../store/store.ts';

/** Counted up to here; more is said as this. */
const COUNT_MAX = 1000;

export interface DueCounts {
  /** archived sessions that are old enough to go */
  sessions: number;
  /** transcripts from before a reset that are */
  transcripts: number;
}

/** Returns what `session.maintenance.mode: "enforce"` would purge now. */
export async function countDue(tx: ReadTx, plan: MaintenancePlan): Promise<DueCounts> {
  const sessions = await tx.sessions.archivedBefore({ at: plan.archivedUntil, limit: COUNT_MAX });
  const transcripts =
    plan.endedUntil === undefined
      ? []
      : await tx.windows.endedBefore({ at: plan.endedUntil, limit: COUNT_MAX });
  return { sessions: sessions.length, transcripts: transcripts.length };
}
