/** What clients do not answer in time ends `timeout`: nobody plays it, so jobs and each start see to it (A12, A16). */
import { isOutcome } from '../../core/run-state.ts';
import type { RunCursor, RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { type ClaimedRun, expiredVerdict, timeoutText } from '../runs/claim-run.ts';
import type { ClosedRun } from '../runs/close-run.ts';
import { closeUnplayed, inboxJobKey } from '../runs/close-unplayed.ts';
import { tellClosed } from '../runs/tell-closed.ts';
import { tellEndedBefore } from './hand-over-inbox.ts';
import { unplayedRun } from './held-run.ts';
import { armDeadlineJob, type EndedBefore, takeInbox } from './next-message.ts';

/** Old runs looked at in one query. */
const PAGE = 200;

/** Handles the job `expire-inbox`: ends a message whose time is over, in the unit that ends the job. */
export async function expireInbox(context: RunContext, runId: string): Promise<void> {
  const closed = await context.store.write('expire-inbox', async (tx) => {
    await tx.jobs.remove(inboxJobKey(runId));
    const run = await tx.runs.get(runId);
    if (run === undefined || isOutcome(run.state) || run.deadlineAt === null) return undefined;
    if (run.deadlineAt <= tx.now) {
      const verdict = { state: 'timeout', error: timeoutText(run.timeoutMs) } as const;
      return closeHeld(tx, context, { run, verdict });
    }
    await armDeadlineJob(tx, run);
    return undefined;
  });
  if (closed !== undefined) tellClosed(context, { closed, message: undefined });
}

/** Ends, at a start, what was accepted too long before it; the next start does what is left. */
export async function expireOldInboxes(context: RunContext): Promise<void> {
  for (const state of ['running', 'queued'] as const) {
    const seen = new Set<string>();
    for await (const run of oldRuns(context, state)) {
      if (run.runClass !== 'inbox' || seen.has(run.sessionKey)) continue;
      seen.add(run.sessionKey);
      if (state === 'running') await endHeld(context, run);
      else await endWaiting(context, run.sessionKey);
    }
  }
}

async function* oldRuns(context: RunContext, state: 'running' | 'queued'): AsyncGenerator<RunRow> {
  const { maxAgeHours } = context.config().recovery;
  const acceptedAt = context.startedAt - maxAgeHours * 3_600_000;
  let cursor: RunCursor = { acceptedAt, runId: '' };
  for (;;) {
    const runs = await context.store.read((tx) =>
      tx.runs.pageOfState({ state, cursor, limit: PAGE }),
    );
    yield* runs;
    const last = runs.at(-1);
    if (last === undefined) return;
    cursor = last;
  }
}

async function endHeld(context: RunContext, { runId }: RunRow): Promise<void> {
  const closed = await context.store.write('expire-inbox', async (tx) => {
    const run = await tx.runs.get(runId);
    const verdict = run && expiredVerdict(context, run);
    return verdict && closeHeld(tx, context, { run, verdict });
  });
  if (closed !== undefined) tellClosed(context, { closed, message: undefined });
}

/** Undefined = it has ended, or somebody else has it by now. */
async function closeHeld(
  tx: WriteTx,
  context: RunContext,
  { run, verdict }: { run: RunRow; verdict: NonNullable<ClaimedRun['verdict']> },
): Promise<ClosedRun | undefined> {
  const held = await unplayedRun(tx, run.sessionKey);
  if (held?.runId !== run.runId) return undefined;
  return closeUnplayed(tx, context, { run, end: { ...verdict, message: undefined } });
}

/** Old messages stand at the head of their lane, but for one that a newer interrupt stands before: it ends when it is its turn. */
async function endWaiting(context: RunContext, sessionKey: string): Promise<void> {
  for (;;) {
    const ended = await context.store.write('expire-inbox', async (tx) => {
      const before: EndedBefore = { expired: [], lost: [] };
      const session = await tx.sessions.get(sessionKey);
      const taken = session && (await takeInbox(tx, context, { session, ended: before }));
      if (taken !== undefined) await tx.lanes.leave(taken.fence);
      return before;
    });
    tellEndedBefore(context, ended);
    if (ended.expired.length + ended.lost.length === 0) return;
  }
}
