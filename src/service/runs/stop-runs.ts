/**
 * The one way to stop (A20). In one transaction: runs that wait end `aborted` without having begun,
 * runs that are going are marked and can end in no other way, exchanges end. Whoever plays a marked
 * run is told after the commit; when the process dies first, the next claim ends it.
 */
import { moveExchange } from '../../core/exchange.ts';
import { moveRun, stoppedText } from '../../core/run-state.ts';
import type { ExchangeRow } from '../../store/follow-up-repository.ts';
import type { LaneRow } from '../../store/lane-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { RunServices } from '../context.ts';
import { applyMove } from '../exchange/apply-move.ts';
import { followSpawn } from '../spawn/follow-spawn.ts';
import { closeRun, type RunEnd } from './close-run.ts';
import { closeUnplayed, isUnplayed } from './close-unplayed.ts';
import { collectStops, type StopTarget } from './collect-stops.ts';
import { tellDropped } from './tell-dropped.ts';

export interface StopOrder {
  /** `operator` or the key of the session that stops */
  by: string;
  /** names the call, so that doing it again stops nothing more (A13) */
  stopKey: string | undefined;
  target: StopTarget;
}

/** A run that a stop has ended, or is about to end. */
export interface StoppedRun {
  runId: string;
  sessionKey: string;
}

const STOPPED: RunEnd = { state: 'aborted', message: undefined, error: undefined };

/** What a stop has changed; the outside is told of it by `finishStop`. */
export interface Stopping {
  stopped: StoppedRun[];
  /** how many exchanges have ended by it */
  exchanges: number;
  /** ended by the stop itself: they wait, or a client has them */
  dropped: RunRow[];
  /** held by this process, which does not play them any more: their lanes would never come free */
  stranded: { run: RunRow; lane: LaneRow }[];
}

/** Decides in the unit what is to be stopped; `done` is what an earlier attempt of the call stopped. */
export type StopDecision<Refusal> = { refused: Refusal } | { order: StopOrder };

/** Stops what `decide` names and returns the runs that end by it, or its refusal; then nothing has changed. */
export async function stopRuns<Refusal, Answer>(
  services: RunServices,
  {
    decide,
    answer,
  }: {
    decide(tx: WriteTx): Promise<StopDecision<Refusal>>;
    answer(tx: WriteTx, done: { order: StopOrder; stopping: Stopping }): Promise<Answer>;
  },
): Promise<Refusal | Answer> {
  const result = await services.store.write('stop-runs', async (tx) => {
    const decision = await decide(tx);
    if ('refused' in decision) return { answer: decision.refused, stopping: undefined };
    const { order } = decision;
    const stopping = await stopIn(tx, services, order);
    return { answer: await answer(tx, { order, stopping }), stopping };
  });
  if (result.stopping !== undefined) await finishStop(services, result.stopping);
  return result.answer;
}

/** Stops within a unit of the caller's, who calls `finishStop` after its commit. */
export async function stopIn(
  tx: WriteTx,
  services: RunServices,
  order: StopOrder,
): Promise<Stopping> {
  const { by, stopKey, target } = order;
  const earlier = stopKey === undefined ? [] : await tx.runs.stoppedUnder(stopKey);
  if (earlier.length > 0) return { stopped: earlier, exchanges: 0, dropped: [], stranded: [] };
  const { runs, exchanges } = await collectStops(tx, target);
  for (const exchange of exchanges) await endExchange(tx, exchange, by);
  const stopping: Stopping = {
    stopped: runs,
    exchanges: exchanges.length,
    dropped: [],
    stranded: [],
  };
  for (const run of runs) {
    await tx.runs.update(run.runId, { stoppedBy: by, stopKey: stopKey ?? null });
    const marked = { ...run, stoppedBy: by };
    const lane = must(await tx.lanes.get(run.sessionKey), `run ${run.runId} has no lane`);
    if (lane.currentRunId === run.runId && isUnplayed(run, lane)) {
      stopping.dropped.push((await closeUnplayed(tx, services, { run: marked, end: STOPPED })).run);
    } else if (lane.currentRunId === run.runId) {
      tx.signal({ type: 'stop', runId: run.runId });
      const isHere = lane.owner === services.bootId;
      if (isHere && services.activeRuns.get(run.runId) === undefined) {
        stopping.stranded.push({ run: marked, lane });
      }
    } else {
      stopping.dropped.push(await dropRun(tx, marked));
    }
  }
  return stopping;
}

async function endExchange(tx: WriteTx, exchange: ExchangeRow, by: string): Promise<void> {
  const move = moveExchange(exchange, { type: 'stopped', detail: stoppedText(by) });
  if (move !== undefined) await applyMove(tx, exchange.exchangeId, move);
}

/** Ends a run that no lane is at: its message never enters the transcript, its requester is told. */
async function dropRun(tx: WriteTx, run: RunRow): Promise<RunRow> {
  const isQueued = run.state === 'queued';
  const ended: Partial<RunRow> = {
    state: moveRun(run, isQueued ? { type: 'drop' } : { type: 'end', outcome: 'aborted' }),
    endedAt: tx.now,
    reply: '',
    error: stoppedText(must(run.stoppedBy, `run ${run.runId} was not stopped`)),
  };
  await tx.runs.update(run.runId, ended);
  if (isQueued) {
    await tx.inputs.markDropped(run.runId);
    await tx.lanes.removeQueued(run.sessionKey);
  }
  await tx.sessions.update(run.sessionKey, { abortedLastRun: true, updatedAt: tx.now });
  const dropped = { ...run, ...ended };
  await followSpawn(tx, dropped);
  tx.signal({ type: 'run', runId: run.runId });
  tx.signal({ type: 'lane', sessionKey: run.sessionKey });
  tx.signal({ type: 'session', sessionKey: run.sessionKey });
  return dropped;
}

/** Tells who watches, and closes the runs that this process holds without playing them. */
export async function finishStop(
  services: RunServices,
  { dropped, stranded }: Stopping,
): Promise<void> {
  tellDropped(services, dropped);
  for (const { run, lane } of stranded) {
    const { sessionKey, owner, epoch } = lane;
    if (owner === null) continue;
    const fence = { sessionKey, owner, epoch };
    const claimed = { run, fence, attempt: 1, isBudgeted: true };
    const closed = await closeRun(services, claimed, STOPPED);
    tellDropped(services, [closed.run, ...closed.merged.map((each) => each.run)]);
  }
}
