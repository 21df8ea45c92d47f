/** What the end of a run means for the requester of a child (A18). */
import type { RunPurpose, RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';

/** Turns whose end takes a spawn one step on. */
const STEPS: ReadonlySet<RunPurpose> = new Set<RunPurpose>([
  'task',
  'spawn_announce',
  'spawn_relay',
]);

/** The id of a child's announce turn: fixed, so that it can be queued only once. */
export function announceRunIdOf(taskRunId: string): string {
  return `${taskRunId}:announce`;
}

/** The id of the turn in which the requester passes a child's result on: fixed for the same reason. */
export function relayRunIdOf(taskRunId: string): string {
  return `${taskRunId}:relay`;
}

/** Adds the announce job when a child's first run, its announce turn or its relay turn has ended. */
export async function followSpawn(tx: WriteTx, run: RunRow): Promise<void> {
  if (run.spawnKey === null || !STEPS.has(run.purpose)) return;
  // a lost row must not keep the run from ending
  if ((await tx.spawns.get(run.spawnKey)) === undefined) return;
  if (run.purpose === 'task') await tx.spawns.update(run.spawnKey, { state: 'announcing' });
  await addAnnounceJob(tx, run.spawnKey);
}

/** Adds the job that takes a spawn one step on; more often than needed does no harm. */
export async function addAnnounceJob(tx: WriteTx, childKey: string): Promise<void> {
  await tx.jobs.add({
    jobKey: `announce-spawn:${childKey}`,
    kind: 'announce-spawn',
    payloadJson: JSON.stringify({ childKey }),
    runAt: tx.now,
  });
  tx.signal({ type: 'job' });
}
