import { isOutcome } from '../../core/run-state.ts';
import type { LaneRow } from '../../store/lane-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';

/** Returns the message that a client has in hand. */
export async function heldRun(
  tx: Pick<ReadTx, 'runs'>,
  lane: Pick<LaneRow, 'currentRunId'> | undefined,
): Promise<RunRow | undefined> {
  const runId = lane?.currentRunId ?? null;
  const run = runId === null ? undefined : await tx.runs.get(runId);
  return run === undefined || isOutcome(run.state) ? undefined : run;
}

/** Returns how many messages wait behind it. */
export function waitingBehind(lane: LaneRow | undefined): number {
  if (lane === undefined) return 0;
  return lane.pending - (lane.currentRunId === null ? 0 : 1);
}
