/**
 * How a message waits for a busy session, and what gives way when too many do (B12). People's messages
 * and those of `sessions_send` are counted each for themselves.
 */
import { randomUUID } from 'node:crypto';
import { addToSummary } from '../../core/dropped-summary.ts';
import type { QueueSettings } from '../../core/queue-settings.ts';
import { moveRun } from '../../core/run-state.ts';
import type { LaneRow } from '../../store/lane-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { assert, must } from '../../util/assert.ts';
import { acceptNote, type QueuePlace } from '../runs/accept-run.ts';
import { acceptedOrder } from '../runs/interrupts.ts';
import { refusedOperator } from './check-message.ts';

/** More queued runs than this are not looked through for the cap. */
const MAX_LOOKED_AT = 1000;

/** How a person's message waits; `place` is undefined when the session is idle: then it runs at once. */
export interface QueuedMessage {
  place: QueuePlace | undefined;
  /** waiting runs that gave way, ended in this unit */
  dropped: RunRow[];
}

/** Makes room for a person's message. Throws `unavailable` when the cap is reached and the new one gives way. */
export async function queueMessage(
  tx: WriteTx,
  { sessionKey, settings }: { sessionKey: string; settings: QueueSettings },
): Promise<QueuedMessage> {
  const lane = await tx.lanes.get(sessionKey);
  if (lane === undefined || lane.pending === 0) return { place: undefined, dropped: [] };
  const { mode, cap, debounceMs } = settings;
  const full = await messageOverCap(tx, { sessionKey, settings });
  if (full !== undefined)
    throw refusedOperator({ status: 'error', rule: 'queue_cap', error: full });
  const waiting = await waitingInLane(tx, { lane, cap, isCounted: isPersons });
  const count = waiting?.length ?? waitingOf(lane);
  const dropped =
    waiting === undefined || count < cap
      ? []
      : await makeRoom(tx, { settings, waiting, excess: count - cap + 1 });
  // Where no more may wait, nothing is gained by waiting for quiet.
  const isQuiet = mode === 'collect' && count + 1 < cap;
  return { place: { mode, readyAt: isQuiet ? tx.now + debounceMs : tx.now }, dropped };
}

/** Returns what to say of a `sessions_send` that would be one more than may wait, else undefined. */
export function sendOverCap(
  tx: ReadTx,
  { sessionKey, cap }: { sessionKey: string; cap: number },
): Promise<string | undefined> {
  return overCap(tx, { sessionKey, cap, isCounted: isSend });
}

/** Returns what to say of a person's message that would be one more than may wait where the new one gives way, else undefined. */
export async function messageOverCap(
  tx: ReadTx,
  { sessionKey, settings: { cap, drop } }: { sessionKey: string; settings: QueueSettings },
): Promise<string | undefined> {
  return drop === 'new' ? overCap(tx, { sessionKey, cap, isCounted: isPersons }) : undefined;
}

async function overCap(
  tx: ReadTx,
  {
    sessionKey,
    cap,
    isCounted,
  }: { sessionKey: string; cap: number; isCounted: (run: RunRow) => boolean },
): Promise<string | undefined> {
  const lane = await tx.lanes.get(sessionKey);
  if (lane === undefined) return undefined;
  const waiting = await waitingInLane(tx, { lane, cap, isCounted });
  if (waiting === undefined || waiting.length < cap) return undefined;
  return fullText({ sessionKey, cap, count: waiting.length });
}

/** Undefined when the lane has fewer waiting runs than the cap, of whatever kind. */
async function waitingInLane(
  tx: ReadTx,
  { lane, cap, isCounted }: { lane: LaneRow; cap: number; isCounted: (run: RunRow) => boolean },
): Promise<RunRow[] | undefined> {
  if (waitingOf(lane) < cap) return undefined;
  return (await tx.runs.queued(lane.sessionKey, MAX_LOOKED_AT)).filter(isCounted);
}

function waitingOf({ pending, currentRunId }: LaneRow): number {
  return pending - (currentRunId === null ? 0 : 1);
}

function isPersons({ queueMode }: RunRow): boolean {
  return queueMode !== null;
}

/** A routed message; what the operator sends has no hops. */
function isSend({ purpose, hops }: RunRow): boolean {
  return purpose === 'message' && hops > 0;
}

async function makeRoom(
  tx: WriteTx,
  {
    settings: { cap, drop },
    waiting,
    excess,
  }: { settings: QueueSettings; waiting: RunRow[]; excess: number },
): Promise<RunRow[]> {
  assert(drop !== 'new', 'the new message was not refused');
  const dropped: RunRow[] = [];
  for (const run of waiting
    .toSorted((a, b) => acceptedOrder(a) - acceptedOrder(b))
    .slice(0, excess)) {
    dropped.push(await dropWaiting(tx, { run, cap, drop }));
  }
  return dropped;
}

async function dropWaiting(
  tx: WriteTx,
  { run, cap, drop }: { run: RunRow; cap: number; drop: 'old' | 'summarize' },
): Promise<RunRow> {
  const { runId, sessionKey } = run;
  const told = drop === 'summarize' ? '; the next turn is told how it began' : '';
  const end = {
    state: moveRun(run, { type: 'give_way' }),
    endedAt: tx.now,
    reply: '',
    error: `dropped: more than ${cap} messages waited for session ${sessionKey} (messages.queue.cap ${cap})${told}; send it again if it is still wanted`,
  } as const;
  await tx.runs.update(runId, end);
  await tx.inputs.markDropped(runId);
  await tx.lanes.removeQueued(sessionKey);
  if (drop === 'summarize') await summarize(tx, run);
  tx.signal({ type: 'run', runId });
  return { ...run, ...end };
}

/** The list of what was dropped is one note that grows until a turn takes it in. */
async function summarize(tx: WriteTx, { runId, sessionKey, rootRunId }: RunRow): Promise<void> {
  const { text } = must(await tx.inputs.get(runId), `run ${runId} has no accepted message`);
  const summary = await tx.inputs.firstPending(sessionKey, 'summary');
  const longer = addToSummary(summary?.text, text);
  if (summary !== undefined) return tx.inputs.rewrite(summary.inputId, longer);
  await acceptNote(tx, {
    inputId: randomUUID(),
    kind: 'summary',
    sessionKey,
    text: longer,
    rootRunId,
  });
}

function fullText(full: { sessionKey: string; cap: number; count: number }): string {
  const { sessionKey, cap, count } = full;
  return `${count} messages wait for session ${sessionKey}, and no more than ${cap} may (messages.queue.cap); nothing was sent, send it again when some are done`;
}
