/** Claiming: a free lane gets an owner, and its next message enters the transcript in the same transaction (A12). */
import { isOutcome, moveRun, stoppedText } from '../../core/run-state.ts';
import type { RunClass } from '../../protocol/words.ts';
import type { LaneRow } from '../../store/lane-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { LaneFence } from '../../store/lane-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import {
  type BudgetedStart,
  type ClosingTurn,
  resumeUnderBudget,
  startUnderBudget,
} from '../budgets/reserve-call.ts';
import { bookUnknown, type Caller } from '../usage/book-calls.ts';
import { appendNoteText } from './append-input.ts';
import { endLostRun, partsOf, tellLost } from './end-lost-run.ts';
import { joinTurn, waitingForTurnOf } from './merge-runs.ts';

export interface ClaimedRun {
  run: RunRow;
  session: SessionRow;
  fence: LaneFence;
  /** 1 for the first attempt, more after a crash */
  attempt: number;
  /** set when the run must end without another attempt */
  verdict: { state: 'timeout' | 'error' | 'aborted'; error: string } | undefined;
  /** runs whose messages its turn took in at this claim */
  merged: RunRow[];
  /** its model calls are reserved under budgets */
  isBudgeted: boolean;
  /** its next model call is its last one */
  closing: ClosingTurn | undefined;
}

/** Most notes that one turn takes in; the rest joins the turn after. */
const MAX_NOTES_PER_TURN = 50;

/** Runs that ended instead of being claimed, because the store has lost a part of them. */
interface LostRuns {
  lost: RunRow[];
}

/** Claims the next lane that has work of one of these classes. Undefined when there is none. */
export async function claimRun(
  context: RunContext,
  runClasses: readonly RunClass[],
): Promise<ClaimedRun | undefined> {
  for (;;) {
    const claimed = await claimOne(context, runClasses);
    if (claimed === undefined || !('lost' in claimed)) return claimed;
    // one run a unit: a lane that is lost with a long queue holds nobody up
    tellLost(context, claimed.lost);
  }
}

function claimOne(
  context: RunContext,
  runClasses: readonly RunClass[],
): Promise<ClaimedRun | LostRuns | undefined> {
  return context.store.write('claim-run', async (tx) => {
    for (const runClass of runClasses) {
      const claimed = await claimOfClass(tx, context, runClass);
      if (claimed !== undefined) return claimed;
    }
    return undefined;
  });
}

async function claimOfClass(
  tx: WriteTx,
  context: RunContext,
  runClass: RunClass,
): Promise<ClaimedRun | LostRuns | undefined> {
  for (;;) {
    const lane = await tx.lanes.claimNext({ runClass, owner: context.bootId });
    if (lane === undefined) return undefined;
    const fence = { sessionKey: lane.sessionKey, owner: context.bootId, epoch: lane.epoch };
    const run =
      lane.currentRunId === null
        ? await tx.runs.nextQueued(lane.sessionKey)
        : await tx.runs.get(lane.currentRunId);
    if (run !== undefined && !isOutcome(run.state)) return take(tx, context, { run, fence });
    // A lane that holds a run which has ended would be claimed for ever (BR-007).
    if (lane.currentRunId !== null) await tx.lanes.release(fence, tx.now);
    else await putToRest(tx, { lane, fence });
  }
}

/** A run that throws at its claim would keep its whole class from being claimed, for ever (BR-007). */
async function take(
  tx: WriteTx,
  context: RunContext,
  { run, fence }: { run: RunRow; fence: LaneFence },
): Promise<ClaimedRun | LostRuns> {
  const parts = await partsOf(tx, run);
  if ('session' in parts) {
    const start = run.state === 'queued' ? startRun : resumeRun;
    return start(tx, context, { run, session: parts.session, fence });
  }
  const lost = await endLostRun(tx, { run, loss: parts.loss });
  await tx.lanes.release(fence, tx.now);
  return { lost };
}

/** A lane that counts runs which are not there would be claimed for ever, in front of all others (BR-007). */
async function putToRest(
  tx: WriteTx,
  { lane, fence }: { lane: LaneRow; fence: LaneFence },
): Promise<void> {
  for (let extra = lane.pending; extra > 1; extra -= 1)
    await tx.lanes.removeQueued(lane.sessionKey);
  await tx.lanes.release(fence, tx.now);
}

async function startRun(
  tx: WriteTx,
  context: RunContext,
  { run: queued, session, fence }: { run: RunRow; session: SessionRow; fence: LaneFence },
): Promise<ClaimedRun> {
  const waiting = await waitingForTurnOf(tx, queued);
  const deadlineAt = queued.timeoutMs > 0 ? tx.now + queued.timeoutMs : null;
  const started = {
    state: moveRun(queued, { type: 'claim' }),
    sessionId: session.sessionId,
    startedAt: tx.now,
    deadlineAt,
  } as const;
  await tx.runs.update(queued.runId, started);
  await tx.sessions.update(session.key, { updatedAt: tx.now });
  await tx.lanes.setCurrent(fence, queued.runId, 'running');
  tx.signal({ type: 'run', runId: queued.runId });
  const run = { ...queued, ...started };
  await appendNotes(tx, context, run);
  const { merged } = await joinTurn(tx, context, { run, messages: [queued, ...waiting] });
  const verdict = expiredVerdict(context, run);
  if (verdict !== undefined) return { run, session, fence, attempt: 1, verdict, merged, ...FREE };
  const start = await startUnderBudget(tx, context, { run, session });
  return { run, session, fence, attempt: 1, merged, ...underBudget(start) };
}

/** Of a run that asks no model. */
const FREE = { isBudgeted: false, closing: undefined };

function underBudget({
  isBudgeted,
  refusal,
  closing,
}: BudgetedStart): Pick<ClaimedRun, 'isBudgeted' | 'closing' | 'verdict'> {
  const verdict = refusal === undefined ? undefined : ({ state: 'error', error: refusal } as const);
  return { isBudgeted, closing, verdict };
}

async function appendNotes(tx: WriteTx, context: RunContext, run: RunRow): Promise<void> {
  for (const input of await tx.inputs.pendingNotes(run.sessionKey, MAX_NOTES_PER_TURN)) {
    await appendNoteText(tx, context, { input, run });
  }
}

async function resumeRun(
  tx: WriteTx,
  context: RunContext,
  { run, session, fence }: { run: RunRow; session: SessionRow; fence: LaneFence },
): Promise<ClaimedRun> {
  const { runId } = run;
  const state = moveRun(run, { type: 'claim' });
  await tx.runs.update(runId, { state });
  await tx.lanes.setCurrent(fence, runId, 'running');
  const verdict = resumeVerdict(context, run);
  const attempt = run.attempts + 2;
  const isAsking = await bookLostCall(tx, context, { run, session, attempt: attempt - 1 });
  const budgeted = await resumeUnderBudget(tx, context, { run, session, isAsking });
  const resumed = { run: { ...run, state }, session, fence, attempt, merged: [] };
  return { ...resumed, ...underBudget(budgeted), verdict };
}

/** Unless its tools were at work, the model was being asked; what became of that call nobody knows. */
async function bookLostCall(tx: WriteTx, context: RunContext, caller: Caller): Promise<boolean> {
  const calls = await tx.toolCalls.ofRun(caller.run.runId);
  if (calls.some(({ state }) => state !== 'finished')) return false;
  await bookUnknown(tx, context, caller);
  return true;
}

/** Why a run that was interrupted does not go on. */
function resumeVerdict(context: RunContext, run: RunRow): ClaimedRun['verdict'] {
  if (run.stoppedBy !== null) return { state: 'aborted', error: stoppedText(run.stoppedBy) };
  const { maxAttempts } = context.config().recovery;
  if (run.attempts < maxAttempts) return expiredVerdict(context, run);
  return {
    state: 'error',
    error: `interrupted ${run.attempts} times without progress (recovery.maxAttempts ${maxAttempts}); send the message again if it is still wanted`,
  };
}

/** Work whose time was up before this process could go on with it ends `timeout`, reported once (A12, A16). */
export function expiredVerdict(context: RunContext, run: RunRow): ClaimedRun['verdict'] {
  if (run.deadlineAt !== null && run.deadlineAt <= context.clock.now()) {
    return { state: 'timeout', error: timeoutText(run.timeoutMs) };
  }
  const { maxAgeHours } = context.config().recovery;
  if (run.acceptedAt >= context.startedAt - maxAgeHours * 3_600_000) return undefined;
  return {
    state: 'timeout',
    error: `accepted more than ${maxAgeHours} hours before the gateway came back (recovery.maxAgeHours); send it again if it is still wanted`,
  };
}

/** Returns what a run that hit its time limit says of itself. */
export function timeoutText(timeoutMs: number): string {
  return `the run was stopped after ${timeoutMs / 1000} s, its time limit`;
}
