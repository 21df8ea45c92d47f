/** Waits of runs: rows, with the check for cycles over lanes (A9, A11). One call may wait for several runs. */
import type { SessionCaller } from '../../core/caller.ts';
import type { Refusal } from '../../core/refusals.ts';
import { isOutcome, moveRun } from '../../core/run-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { WaitRow } from '../../store/run-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { ActiveRun } from './active-runs.ts';
import type { RunServices } from '../context.ts';
import { cycleRefusal } from './wait-cycle.ts';
import { awaitRuns, type WaitMode } from './wait-for-run.ts';

/** The call of a run that waits. */
export type WaitingCall = NonNullable<SessionCaller['run']>;

export interface WaitTarget {
  runId: string;
  /** its lane */
  key: string;
}

interface NewWait {
  caller: SessionCaller;
  targets: readonly WaitTarget[];
  mode: WaitMode;
  timeoutMs: number;
}

/** What ended a wait before its runs or its time. */
export type Interruption = { kind: 'message'; runId: string };

/**
 * Books that the caller's run waits for others, in the transaction that decides it. Returns the
 * refusal when that would close a cycle over lanes; then nothing may be written. A wait that is
 * there already (the call is done again after a crash) goes on with its own targets and deadline.
 */
export async function openWait(
  tx: WriteTx,
  services: Pick<RunServices, 'activeRuns'>,
  wait: NewWait,
): Promise<Refusal | undefined> {
  const { caller } = wait;
  if (caller.run === undefined) return undefined;
  const rows = await waitsOfCall(tx, caller.run);
  if (rows.length === 0) {
    const cycle = await insertRows(tx, { ...wait, call: caller.run });
    if (cycle !== undefined) return cycle;
  }
  if (!(await isStillOpen(tx, { call: caller.run, mode: wait.mode }))) return undefined;
  const active = activeOf(services, caller.run);
  const run = must(await tx.runs.get(active.runId), `run ${active.runId} vanished`);
  await tx.runs.update(active.runId, { state: moveRun(run, { type: 'wait' }) });
  await tx.lanes.setState(active.fence, 'waiting');
  return undefined;
}

async function insertRows(
  tx: WriteTx,
  { caller, call, targets, mode, timeoutMs }: NewWait & { call: WaitingCall },
): Promise<Refusal | undefined> {
  const rows: WaitRow[] = [];
  for (const [index, target] of targets.entries()) {
    const run = await tx.runs.get(target.runId);
    const hasEnded = run !== undefined && isOutcome(run.state);
    rows.push({
      waitId: waitIdOf(call, index),
      waiterRunId: call.runId,
      waiterKey: caller.sessionKey,
      targetRunId: target.runId,
      targetKey: target.key,
      deadlineAt: tx.now + timeoutMs,
      state: hasEnded ? 'done' : 'open',
      interruptedBy: null,
      createdAt: tx.now,
      endedAt: hasEnded ? tx.now : null,
    });
  }
  const isOver = mode === 'any' && rows.some(({ state }) => state === 'done');
  for (const row of rows) {
    if (row.state !== 'open' || isOver) continue;
    const cycle = await cycleRefusal(tx, { from: caller.sessionKey, to: row.targetKey });
    if (cycle !== undefined) return cycle;
  }
  for (const row of rows) {
    const isOpen = row.state === 'open' && !isOver;
    await tx.waits.insert(isOpen ? row : { ...row, state: 'done', endedAt: tx.now });
  }
  return undefined;
}

/** Runs that ended while the gateway was away need no waiting; their rows are closed by `end-wait` all the same. */
async function isStillOpen(
  tx: ReadTx,
  { call, mode }: { call: WaitingCall; mode: WaitMode },
): Promise<boolean> {
  const rows = await waitsOfCall(tx, call);
  let ended = 0;
  for (const row of rows) {
    const run = await tx.runs.get(row.targetRunId);
    if (run !== undefined && isOutcome(run.state)) ended += 1;
  }
  if (mode === 'any' ? ended > 0 : ended === rows.length) return false;
  return rows.some(({ state }) => state === 'open');
}

/** Returns the rows of one call, in the order of its targets. */
export async function waitsOfCall(tx: ReadTx, call: WaitingCall): Promise<WaitRow[]> {
  const rows: WaitRow[] = [];
  for (;;) {
    const row = await tx.waits.get(waitIdOf(call, rows.length));
    if (row === undefined) return rows;
    rows.push(row);
  }
}

/**
 * Waits until the rows of the call are satisfied, their deadline has passed or a person's message
 * ends the wait; returns that message. A waiting run holds no slot (A11).
 */
export async function awaitInRun(
  services: RunServices,
  { call, mode }: { call: WaitingCall; mode: WaitMode },
): Promise<Interruption | undefined> {
  const { rows, state } = await services.store.read(async (tx) => ({
    rows: await waitsOfCall(tx, call),
    state: (await tx.runs.get(call.runId))?.state,
  }));
  const isOpen = rows.some((row) => row.state === 'open');
  // Done again after a crash, or nothing to wait for: the rows say how it ended.
  if (!isOpen && state !== 'waiting') return interruptionOf(rows);
  const active = activeOf(services, call);
  if (isOpen) await waitOn(services, { active, call, mode, rows });
  return endWait(services, { active, call });
}

function interruptionOf(rows: readonly WaitRow[]): Interruption | undefined {
  const by = rows.find(({ interruptedBy }) => interruptedBy !== null)?.interruptedBy;
  return typeof by === 'string' ? { kind: 'message', runId: by } : undefined;
}

async function waitOn(
  services: RunServices,
  {
    active,
    call,
    mode,
    rows,
  }: { active: ActiveRun; call: WaitingCall; mode: WaitMode; rows: readonly WaitRow[] },
): Promise<void> {
  const { signal } = call;
  const wait = {
    runIds: rows.map((row) => row.targetRunId),
    mode,
    deadlineAt: rows[0]?.deadlineAt ?? 0,
    signal,
    waiter: {
      runId: call.runId,
      isInterrupted: async (tx: ReadTx) =>
        interruptionOf(await waitsOfCall(tx, call)) !== undefined,
    },
  };
  const runs = await waitWithoutSlot(services, active, () => awaitRuns(services, wait));
  // Cut short from outside: the run that waits is ending, or goes on at the next start.
  if (signal.aborted && !runs.every((run) => isOutcome(run.state))) {
    throw new GatewayError('unavailable', `the wait of ${call.runId} was cut short`);
  }
}

/** Closes what is open of the wait and lets the run go on. */
function endWait(
  { store }: RunServices,
  { active, call }: { active: ActiveRun; call: WaitingCall },
): Promise<Interruption | undefined> {
  return store.write('end-wait', async (tx) => {
    await tx.lanes.lock(active.fence);
    const rows = await waitsOfCall(tx, call);
    for (const row of rows) {
      if (row.state !== 'open') continue;
      const run = await tx.runs.get(row.targetRunId);
      const hasEnded = run !== undefined && isOutcome(run.state);
      await tx.waits.end(row.waitId, hasEnded ? 'done' : 'timeout', tx.now);
    }
    const waiter = must(await tx.runs.get(active.runId), `run ${active.runId} vanished`);
    if (waiter.state === 'waiting') {
      await tx.runs.update(active.runId, { state: moveRun(waiter, { type: 'wake' }) });
      await tx.lanes.setState(active.fence, 'running');
    }
    return interruptionOf(rows);
  });
}

async function waitWithoutSlot<T>(
  { slots, wakeScheduler }: RunServices,
  { runClass, signal }: ActiveRun,
  wait: () => Promise<T>,
): Promise<T> {
  slots.give(runClass);
  wakeScheduler();
  try {
    return await wait();
  } finally {
    await slots.retake(runClass, signal);
  }
}

/** A person's message ends the wait of the run that holds the lane it came into (A11). */
export async function interruptWaits(
  tx: WriteTx,
  { sessionKey, byRunId }: { sessionKey: string; byRunId: string },
): Promise<void> {
  const [waiting] = await tx.waits.openOfLane(sessionKey);
  if (waiting === undefined) return;
  await tx.waits.interruptLane(sessionKey, byRunId, tx.now);
  tx.signal({ type: 'run', runId: waiting.waiterRunId });
}

function activeOf({ activeRuns }: Pick<RunServices, 'activeRuns'>, call: WaitingCall): ActiveRun {
  return must(activeRuns.get(call.runId), `run ${call.runId} is not active`);
}

function waitIdOf({ runId, position, callIndex }: WaitingCall, index: number): string {
  const id = `${runId}:${position}:${callIndex}`;
  return index === 0 ? id : `${id}:${index}`;
}
