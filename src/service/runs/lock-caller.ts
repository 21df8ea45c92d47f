/** Every transaction of a run begins with its lane (DESIGN 3). */
import type { SessionCaller } from '../../core/caller.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunServices } from '../context.ts';

/** Locks the lane of the run that calls, so that one that was replaced or stopped meanwhile accepts nothing. Throws `fenced` or `unavailable`. */
export async function lockCaller(
  tx: WriteTx,
  { activeRuns }: Pick<RunServices, 'activeRuns'>,
  { run }: SessionCaller,
): Promise<void> {
  if (run === undefined) return;
  const active = activeRuns.get(run.runId);
  if (active === undefined) {
    throw new GatewayError('fenced', `run ${run.runId} has ended; it can send nothing more`);
  }
  await tx.lanes.lock(active.fence);
  const row = await tx.runs.get(run.runId);
  if (row !== undefined && row.stoppedBy !== null) {
    throw new GatewayError(
      'unavailable',
      `run ${run.runId} was stopped; it can start nothing more`,
    );
  }
}
