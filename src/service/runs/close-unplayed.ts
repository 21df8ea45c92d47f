/** Ends what a client has in hand: nobody plays it, so whoever decides its end writes it. */
import type { LaneRow } from '../../store/lane-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { RunContext } from '../context.ts';
import { closeIn, type ClosedRun, type RunEnd } from './close-run.ts';

/** Names the job that ends the run when its time is over. */
export function inboxJobKey(runId: string): string {
  return `expire-inbox:${runId}`;
}

/** True for a run that a client has in hand, or is to get. */
export function isUnplayed(
  { runClass }: Pick<RunRow, 'runClass'>,
  { owner }: Pick<LaneRow, 'owner'>,
): boolean {
  return runClass === 'inbox' && owner === null;
}

/** Closes the run that its lane holds in this unit; tell its end after the commit. */
export async function closeUnplayed(
  tx: WriteTx,
  context: RunContext,
  { run, end }: { run: RunRow; end: RunEnd },
): Promise<ClosedRun> {
  const { runId, sessionKey } = run;
  const owner = context.bootId;
  const lane = must(await tx.lanes.take({ sessionKey, owner }), `lane ${sessionKey} is not free`);
  const fence = { sessionKey, owner, epoch: lane.epoch };
  await tx.jobs.remove(inboxJobKey(runId));
  return closeIn(tx, context, { claimed: { run, fence, attempt: 1, isBudgeted: false }, end });
}
