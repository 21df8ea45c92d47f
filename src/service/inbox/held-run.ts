import { isOutcome } from '../../core/run-state.ts';
import type { LaneRow } from '../../store/lane-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { isUnplayed } from '../runs/close-unplayed.ts';

/** Returns the message that a client has in hand. */
export async function heldRun(
  tx: Pick<ReadTx, 'runs'>,
  lane: Pick<LaneRow, 'currentRunId'> | undefined,
): Promise<RunRow | undefined> {
  const runId = lane?.currentRunId ?? null;
  const run = runId === null ? undefined : await tx.runs.get(runId);
  return run === undefined || isOutcome(run.state) ? undefined : run;
}

/** Returns the run that only its client, its time or a stop ends: it is in a client's hands. */
export async function unplayedRun(
  tx: Pick<ReadTx, 'lanes' | 'runs'>,
  sessionKey: string,
): Promise<RunRow | undefined> {
  const lane = await tx.lanes.get(sessionKey);
  const held = await heldRun(tx, lane);
  return lane !== undefined && held !== undefined && isUnplayed(held, lane) ? held : undefined;
}

/** Returns how many messages wait behind it. */
export function waitingBehind(lane: LaneRow | undefined): number {
  if (lane === undefined) return 0;
  return lane.pending - (lane.currentRunId === null ? 0 : 1);
}
