/** The message that a client is to get next; what can no longer be handed over ends before it. */
import { moveRun } from '../../core/run-state.ts';
import type { LaneFence } from '../../store/lane-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { RunContext } from '../context.ts';
import { appendInput } from '../runs/append-input.ts';
import { expiredVerdict } from '../runs/claim-run.ts';
import { closeIn, type ClosedRun } from '../runs/close-run.ts';
import { inboxJobKey } from '../runs/close-unplayed.ts';
import { endLostRun, partsOf } from '../runs/end-lost-run.ts';
import { heldRun } from './held-run.ts';

/** Messages that end instead of being handed over, at most, in one unit: the rest is the next one's. */
const MAX_ENDED = 50;

/** Runs that ended before anybody had them. */
export interface EndedBefore {
  /** were too old */
  expired: ClosedRun[];
  /** the store has lost a part of them */
  lost: RunRow[];
}

/** A lane that the unit has taken, and has to leave. */
export interface TakenInbox {
  fence: LaneFence;
  /** what the client has in hand */
  held: RunRow | undefined;
  /** what it is to get, when it has nothing in hand */
  next: RunRow | undefined;
}

/**
 * Takes the lane of a client and ends, from its head, what was accepted too long before this gateway
 * started. Undefined when there is no lane, or somebody plays its run.
 */
export async function takeInbox(
  tx: WriteTx,
  context: RunContext,
  { session, ended }: { session: SessionRow; ended: EndedBefore },
): Promise<TakenInbox | undefined> {
  const { key: sessionKey } = session;
  const owner = context.bootId;
  for (;;) {
    const lane = await tx.lanes.take({ sessionKey, owner });
    if (lane === undefined) return undefined;
    const fence = { sessionKey, owner, epoch: lane.epoch };
    const held = await heldRun(tx, lane);
    if (held !== undefined) return { fence, held, next: undefined };
    const isFull = ended.expired.length + ended.lost.length >= MAX_ENDED;
    const next = isFull ? undefined : await tx.runs.nextQueued(sessionKey);
    if (next === undefined) return { fence, held, next };
    const parts = await partsOf(tx, next);
    const verdict = expiredVerdict(context, next);
    if ('loss' in parts) {
      ended.lost.push(...(await endLostRun(tx, { run: next, loss: parts.loss })));
      await tx.lanes.removeQueued(sessionKey);
      await tx.lanes.leave(fence);
    } else if (verdict === undefined) {
      return { fence, held, next };
    } else {
      const run = await beginMessage(tx, { run: next, session, fence });
      await appendText(tx, context, run);
      const claimed = { run, fence, attempt: 1, isBudgeted: false };
      const end = { ...verdict, message: undefined };
      ended.expired.push(await closeIn(tx, context, { claimed, end }));
    }
  }
}

/** Makes the message the one that the client has in hand. */
export async function beginMessage(
  tx: WriteTx,
  { run, session, fence }: { run: RunRow; session: SessionRow; fence: LaneFence },
): Promise<RunRow> {
  const { runId, timeoutMs } = run;
  const deadlineAt = timeoutMs > 0 ? tx.now + timeoutMs : null;
  const started = {
    state: moveRun(run, { type: 'claim' }),
    sessionId: session.sessionId,
    startedAt: tx.now,
    deadlineAt,
  } as const;
  await tx.runs.update(runId, started);
  await tx.sessions.update(session.key, { updatedAt: tx.now });
  await tx.lanes.setCurrent(fence, runId, 'running');
  tx.signal({ type: 'run', runId });
  return { ...run, ...started };
}

/** Appends the text of a message that has begun. */
export async function appendText(tx: WriteTx, context: RunContext, run: RunRow): Promise<void> {
  const input = must(await tx.inputs.get(run.runId), `run ${run.runId} has no accepted message`);
  await appendInput(tx, context, { input, run });
}

/** Adds the job that ends a message when its time is over, where that has an end: nobody plays it. */
export async function armDeadlineJob(
  tx: WriteTx,
  { runId, deadlineAt }: Pick<RunRow, 'runId' | 'deadlineAt'>,
): Promise<void> {
  if (deadlineAt === null) return;
  await tx.jobs.add({
    jobKey: inboxJobKey(runId),
    kind: 'expire-inbox',
    payloadJson: JSON.stringify({ runId }),
    runAt: deadlineAt,
  });
  tx.signal({ type: 'job' });
}
