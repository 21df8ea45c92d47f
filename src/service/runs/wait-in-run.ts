/** Waits: as rows when a run waits, with the check for cycles over lanes; as plain reads for other callers (A9, A11). */
import type { SessionCaller } from '../../core/caller.ts';
import { waitCycleText } from '../../core/loops.ts';
import { isOutcome } from '../../core/run-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionsSendAnswer } from '../../protocol/tools/session-tools.ts';
import type { RunRow } from '../../store/rows.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { ActiveRun } from './active-runs.ts';
import type { RunServices } from '../context.ts';
import { answerOf, awaitRunEnd } from './wait-for-run.ts';

interface NewWait {
  caller: SessionCaller;
  targetRunId: string;
  targetKey: string;
  timeoutMs: number;
}

/**
 * Books that the caller's run waits for another, in the transaction of the message. Returns the
 * error when the wait would close a cycle over lanes; then nothing may be written. A wait that is
 * there already (the call is done again after a crash) goes on with its own deadline.
 */
export async function openWait(
  tx: WriteTx,
  services: RunServices,
  wait: NewWait,
): Promise<string | undefined> {
  const { caller, targetRunId, targetKey } = wait;
  if (caller.run === undefined) return undefined;
  const active = must(
    services.activeRuns.get(caller.run.runId),
    `run ${caller.run.runId} is not active`,
  );
  const waitId = waitIdOf(caller.run);
  const existing = await tx.waits.get(waitId);
  if (existing !== undefined && existing.state !== 'open') return undefined;
  const target = await tx.runs.get(targetRunId);
  if (target !== undefined && isOutcome(target.state)) return undefined;
  if (existing === undefined) {
    const cycle = await findCycle(tx, caller.sessionKey, targetKey);
    if (cycle !== undefined) return waitCycleText(cycle);
    await tx.waits.insert({
      waitId,
      waiterRunId: caller.run.runId,
      waiterKey: caller.sessionKey,
      targetRunId,
      targetKey,
      deadlineAt: tx.now + wait.timeoutMs,
      state: 'open',
      createdAt: tx.now,
      endedAt: null,
    });
  }
  await tx.lanes.setState(active.fence, 'waiting');
  await tx.runs.update(caller.run.runId, { state: 'waiting' });
  return undefined;
}

/** Waits for the run and says how it stands, in the words of A9. A waiting run holds no slot (A11). */
export async function awaitReply(
  services: RunServices,
  { runId, caller, timeoutMs }: { runId: string; caller: SessionCaller; timeoutMs: number },
): Promise<SessionsSendAnswer> {
  if (caller.run === undefined) {
    const deadlineAt = services.clock.now() + timeoutMs;
    return toAnswer(await awaitRunEnd(services, { runId, deadlineAt }), timeoutMs);
  }
  const waitId = waitIdOf(caller.run);
  const wait = await services.store.read((tx) => tx.waits.get(waitId));
  if (wait?.state !== 'open') {
    const run = await services.store.read((tx) => tx.runs.get(runId));
    return toAnswer(must(run, `accepted run ${runId} has no row`), timeoutMs);
  }
  const active = must(
    services.activeRuns.get(caller.run.runId),
    `run ${caller.run.runId} is not active`,
  );
  const run = await waitWithoutSlot(services, active, () =>
    awaitRunEnd(services, { runId, deadlineAt: wait.deadlineAt, signal: caller.run?.signal }),
  );
  // Cut short from outside: the run that waits is ending, or goes on at the next start.
  if (!isOutcome(run.state) && caller.run.signal.aborted) {
    throw new GatewayError('unavailable', `the wait for ${runId} was cut short`);
  }
  await services.store.write('end-wait', async (tx) => {
    await tx.lanes.lock(active.fence);
    await tx.waits.end(waitId, isOutcome(run.state) ? 'done' : 'timeout', tx.now);
    await tx.lanes.setState(active.fence, 'running');
    await tx.runs.update(active.runId, { state: 'running' });
  });
  return toAnswer(run, timeoutMs);
}

async function waitWithoutSlot<T>(
  { slots, wakeScheduler }: RunServices,
  { runClass }: ActiveRun,
  wait: () => Promise<T>,
): Promise<T> {
  slots.give(runClass);
  wakeScheduler();
  try {
    return await wait();
  } finally {
    await slots.retake(runClass);
  }
}

function toAnswer(run: RunRow, timeoutMs: number): SessionsSendAnswer {
  const {
    startedAt: _started,
    endedAt: _ended,
    sessionKey: _key,
    ...answer
  } = answerOf(run, timeoutMs);
  return answer.status === 'ok' && answer.reply === '' ? { ...answer, noReply: true } : answer;
}

/** Returns the lanes of the cycle that a wait of `waiterKey` for `targetKey` would close, or undefined. */
async function findCycle(
  tx: ReadTx,
  waiterKey: string,
  targetKey: string,
): Promise<string[] | undefined> {
  const path = [waiterKey, targetKey];
  const seen = new Set<string>();
  for (let key = targetKey; !seen.has(key);) {
    if (key === waiterKey) return path;
    seen.add(key);
    const next = await tx.waits.openOfLane(key);
    if (next === undefined) return undefined;
    key = next.targetKey;
    path.push(key);
  }
  return undefined;
}

function waitIdOf(run: { runId: string; position: number; callIndex: number }): string {
  return `${run.runId}:${run.position}:${run.callIndex}`;
}
