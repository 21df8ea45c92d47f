/** Ending a run whose time is up (A16). */
import type { ActiveRuns } from './active-runs.ts';
import type { ServiceContext } from './context.ts';

/**
 * Handles the job `run-timeout`: aborts the run when it is active here. One that is not (its process
 * died) ends `timeout` at the next claim, because its deadline is in its row.
 */
export async function expireRun(
  context: ServiceContext & { activeRuns: ActiveRuns },
  runId: string,
): Promise<void> {
  context.activeRuns.get(runId)?.abort('timeout');
  await context.store.write('run-timeout', (tx) => tx.jobs.remove(`run-timeout:${runId}`));
}
