/** What the end of a run means for the requester of a child (A18). */
import type { RunRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';

/** The id of a child's announce turn: fixed, so that it can be queued only once. */
export function announceRunIdOf(taskRunId: string): string {
  return `${taskRunId}:announce`;
}

/** Adds the announce job when a child's first run, or its announce turn, has ended. */
export async function followSpawn(tx: WriteTx, run: RunRow): Promise<void> {
  if (run.spawnKey === null) return;
  if (run.purpose !== 'task' && run.purpose !== 'spawn_announce') return;
  // a lost row must not keep the run from ending
  if ((await tx.spawns.get(run.spawnKey)) === undefined) return;
  if (run.purpose === 'task') await tx.spawns.update(run.spawnKey, { state: 'announcing' });
  await tx.jobs.add({
    jobKey: `announce-spawn:${run.spawnKey}`,
    kind: 'announce-spawn',
    payloadJson: JSON.stringify({ childKey: run.spawnKey }),
    runAt: tx.now,
  });
  tx.signal({ type: 'job' });
}
