/**
 * Closing: the one transaction that gives a run its outcome. The final message, the counters, the
 * lane and every follow-up are one step; nothing that follows a run is a promise in memory.
 */
import { moveRun, stoppedText } from '../../core/run-state.ts';
import { isReplySkip, visibleText } from '../../core/silence.ts';
import type { AssistantMessage } from '../../protocol/message.ts';
import { textOf } from '../../protocol/message.ts';
import type { RunOutcome } from '../../protocol/words.ts';
import type { LaneFence, LaneRow } from '../../store/lane-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { appendLeftNotes } from './append-left-notes.ts';
import type { ClaimedRun } from './claim-run.ts';
import type { RunContext } from '../context.ts';
import { followExchange } from '../exchange/follow-exchange.ts';
import { restartArchiveClock } from '../archive/archive-clock.ts';
import { followSpawn } from '../spawn/follow-spawn.ts';
import { putOutgoing, routeOf, storedRoute } from '../delivery/outbox.ts';
import { appendMessage } from '../messages/append-message.ts';
import { endLostRun, partsOf } from './end-lost-run.ts';
import { endMerged } from './merge-runs.ts';
import { bookCalls, contextTokensAfter } from '../usage/book-calls.ts';
import type { UnbookedCalls } from '../usage/call-ledger.ts';

/** How a run ended. */
export interface RunEnd {
  state: RunOutcome;
  /** the final or partial assistant message, to be appended */
  message: AssistantMessage | undefined;
  error: string | undefined;
  /** the message is what was done when a budget was used up; it is a reply all the same */
  isPartial?: boolean;
  /** model calls that the message does not speak for */
  unbooked?: UnbookedCalls;
}

/** What the outside is told once the run is closed. */
export interface ClosedRun {
  run: RunRow;
  reply: string;
  delivered: boolean;
  /** the runs whose messages its turn took in; they end with it */
  merged: { run: RunRow; delivered: boolean }[];
}

/** Closes a claimed run. Rejects `fenced` when the lane has another owner by now; then nothing was written. */
export function closeRun(context: RunContext, claimed: HeldRun, end: RunEnd): Promise<ClosedRun> {
  return context.store.write('close-run', (tx) => closeIn(tx, context, { claimed, end }));
}

/** A run whose lane is held at this owner and epoch. */
type HeldRun = Pick<ClaimedRun, 'run' | 'fence' | 'attempt' | 'isBudgeted'> & {
  /** as it was when the run was claimed; absent = as it is now */
  session?: SessionRow;
};

/** The same within a unit of the caller's. */
export async function closeIn(
  tx: WriteTx,
  context: RunContext,
  { claimed, end }: { claimed: HeldRun; end: RunEnd },
): Promise<ClosedRun> {
  const { fence } = claimed;
  const { runId } = claimed.run;
  const lane = await tx.lanes.lock(fence);
  const before = must(await tx.runs.get(runId), `run ${runId} vanished`);
  const parts = await partsOf(tx, before);
  if ('loss' in parts) return closeLost(tx, { before, lane, fence, loss: parts.loss });
  const played = { session: parts.session, ...claimed };
  const run = await writeOutcome(tx, context, { claimed: played, before, end });
  const merged = await endMerged(tx, run);
  await tx.lanes.release(fence, await readyAfter(tx, lane));
  const session = must(await tx.sessions.get(run.sessionKey), `run ${runId} has no session`);
  // a client is shown its notes when it asks
  if (!isClients(run)) await appendLeftNotes(tx, context, session);
  const rawReply = end.message === undefined ? '' : textOf(end.message);
  await followExchange(tx, { run, isReplySkip: isReplySkip(rawReply) });
  await followSpawn(tx, run);
  await restartArchiveClock(tx, session);
  const [delivered = false, ...others] = await deliverReplies(tx, context, {
    runs: [run, ...merged],
    session,
    text: rawReply,
    isPartial: end.isPartial === true,
  });
  tx.signal({ type: 'run', runId });
  tx.signal({ type: 'lane', sessionKey: run.sessionKey });
  tx.signal({ type: 'session', sessionKey: run.sessionKey });
  return {
    run,
    reply: run.reply ?? '',
    delivered,
    merged: merged.map((each, at) => ({ run: each, delivered: others[at] ?? false })),
  };
}

/** A session that was taken away while its run went on must not keep the run open (BR-078). */
async function closeLost(
  tx: WriteTx,
  lost: { before: RunRow; lane: LaneRow; fence: LaneFence; loss: string },
): Promise<ClosedRun> {
  const { before, lane, fence, loss } = lost;
  const [run, ...merged] = await endLostRun(tx, { run: before, loss });
  await tx.lanes.release(fence, await readyAfter(tx, lane));
  return {
    run: run ?? before,
    reply: '',
    delivered: false,
    merged: merged.map((each) => ({ run: each, delivered: false })),
  };
}

/** Messages that are collected wait until nobody has said more for a while (B12). */
async function readyAfter(tx: WriteTx, lane: LaneRow): Promise<number> {
  if (lane.pending < 2 || lane.quietUntil <= tx.now) return tx.now;
  const next = await tx.runs.nextQueued(lane.sessionKey);
  return next?.queueMode === 'collect' ? lane.quietUntil : tx.now;
}

async function writeOutcome(
  tx: WriteTx,
  context: RunContext,
  { claimed, before, end }: { claimed: Required<HeldRun>; before: RunRow; end: RunEnd },
): Promise<RunRow> {
  const { runId, sessionKey } = claimed.run;
  const { message } = end;
  // A stop that was answered holds, also when the run had come to its end by itself meanwhile.
  const state = moveRun(before, { type: 'end', outcome: end.state });
  if (message !== undefined) {
    const sessionId = claimed.run.sessionId ?? claimed.session.sessionId;
    await appendMessage(tx, { sessionKey, sessionId, runId, message });
  }
  // what a client's own model cost is the client's
  if (!isClients(before)) {
    const { unbooked } = end;
    await bookCalls(tx, context, { caller: claimed, message, unbooked, isEnd: true });
  }
  await tx.runs.update(runId, {
    state,
    endedAt: tx.now,
    reply: message === undefined ? '' : visibleText(textOf(message)).text,
    error: before.stoppedBy === null ? (end.error ?? null) : stoppedText(before.stoppedBy),
    attempts: 0,
  });
  await tx.waits.endOfRun(runId, tx.now);
  if (state !== 'ok') await tx.toolCalls.dropHeld(runId);
  const run = must(await tx.runs.get(runId), `run ${runId} vanished`);
  const session = must(await tx.sessions.get(sessionKey), `run ${runId} has no session`);
  await tx.sessions.update(sessionKey, sessionAfter(session, { run, message, now: tx.now }));
  return run;
}

function isClients({ runClass }: RunRow): boolean {
  return runClass === 'inbox';
}

function sessionAfter(
  session: SessionRow,
  { run, message, now }: { run: RunRow; message: AssistantMessage | undefined; now: number },
): Partial<SessionRow> {
  const contextTokens = message === undefined ? undefined : contextTokensAfter(message);
  const isCurrent = run.sessionId === session.sessionId;
  return {
    updatedAt: now,
    ...(isCurrent ? { abortedLastRun: run.state === 'aborted' } : {}),
    inputTokens: session.inputTokens + run.inputTokens,
    outputTokens: session.outputTokens + run.outputTokens,
    ...(run.model === null ? {} : { lastModel: run.model }),
    // of the transcript that it wrote to, which a reset may have replaced meanwhile
    ...(isCurrent && message !== undefined && !isClients(run) ? { systemSent: true } : {}),
    ...(isCurrent && contextTokens !== undefined ? { totalTokens: contextTokens } : {}),
  };
}

/** The reply goes out once to each chat that waits for it; returns for each run whether a channel will show it. */
async function deliverReplies(
  tx: WriteTx,
  context: RunContext,
  {
    runs,
    session,
    text,
    isPartial,
  }: { runs: readonly RunRow[]; session: SessionRow; text: string; isPartial: boolean },
): Promise<boolean[]> {
  const told = new Set<string>();
  const delivered: boolean[] = [];
  for (const run of runs) {
    const { routeJson, runId } = run;
    const route =
      routeJson === null
        ? routeOf(session)
        : storedRoute(context, { routeJson, column: 'runs.route_json', id: runId });
    const hasReply = run.state === 'ok' || (isPartial && run.state === 'error');
    const isDue = run.deliver && hasReply && !told.has(JSON.stringify(route));
    const key = `reply:${runId}`;
    if (isDue) {
      told.add(JSON.stringify(route));
      await putOutgoing(tx, context, { session, route, runId, text, key });
    }
    delivered.push(isDue && (await tx.deliveries.get(`${key}:0`))?.state === 'queued');
  }
  return delivered;
}
