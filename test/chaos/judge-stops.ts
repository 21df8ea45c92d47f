/** What was stopped or broken off: a stop that was answered holds, and it reached everything below. */
import { INTERRUPTED_TEXT } from '../../src/service/runs/interrupts.ts';
import { type Evidence, hasOutcome, type Problem } from './evidence.ts';
import type { Row } from './store-state.ts';

/** Returns what is wrong with stopped runs, with the stops that were told, and with runs that ended `aborted`. */
export function judgeStops(evidence: Evidence): Problem[] {
  const { rows } = evidence;
  const caused = Map.groupBy(rows.runs, (run) => run['parent_run_id']);
  return [
    ...rows.runs.flatMap((run) => [
      ...judgeAborted(evidence, run),
      ...judgeStopped(run, caused.get(run['run_id']) ?? []),
    ]),
    ...evidence.gateway.flatMap((entry) =>
      entry.type === 'drained' && entry.code !== 0
        ? { kind: 'wrong' as const, what: `gateway ${entry.pid} was asked to stop: ${entry.code}` }
        : [],
    ),
    ...evidence.driver.flatMap((entry) =>
      entry.type === 'stop' ? judgeTold(evidence, entry) : [],
    ),
  ];
}

function judgeTold(
  evidence: Evidence,
  { target, runIds }: { target: string; runIds: readonly string[] },
): Problem[] {
  return runIds.flatMap((runId): Problem[] => {
    const run = evidence.run(runId);
    if (run === undefined) return [{ kind: 'lost', what: `stop of ${target}: ${runId}` }];
    if (run['state'] === 'aborted' && run['stopped_by'] === 'operator') return [];
    return [{ kind: 'wrong', what: `stop of ${target}: ${runId} is ${run['state']}` }];
  });
}

/** What a stopped run had started was open at the stop, and stopped with it, or had ended before. */
function judgeStopped(run: Row, caused: readonly Row[]): Problem[] {
  const { run_id: runId, state, stopped_by: stoppedBy, ended_at: endedAt } = run;
  if (stoppedBy === null || !hasOutcome(run)) return [];
  if (state !== 'aborted')
    return [{ kind: 'wrong', what: `run ${runId} was stopped and ended ${state}` }];
  return caused
    .filter(({ purpose }) => purpose === 'message' || purpose === 'task')
    .filter((below) => below['state'] !== 'aborted' && Number(below['ended_at']) > Number(endedAt))
    .map((below) => ({
      kind: 'wrong',
      what: `run ${below['run_id']} went on below ${runId}, which was stopped`,
    }));
}

/** A run is broken off by a stop or by a newer message, and never just so. */
function judgeAborted({ rows, turnOf }: Evidence, run: Row): Problem[] {
  if (run['state'] !== 'aborted' || run['stopped_by'] !== null || isWithdrawn(run)) return [];
  const turn = turnOf(run);
  if (turn !== run && turn['state'] === 'aborted') return [];
  const isInterrupted =
    run['error'] === INTERRUPTED_TEXT &&
    rows.runs.some(
      (other) =>
        other['session_key'] === run['session_key'] &&
        other['queue_mode'] === 'interrupt' &&
        placeOf(other) > placeOf(run),
    );
  return isInterrupted ? [] : [{ kind: 'wrong', what: `run ${run['run_id']}: nobody stopped it` }];
}

/** True for a turn of an exchange that a newer message between the two has closed before it began. */
export function isWithdrawn({ state, purpose, error }: Row): boolean {
  return (
    state === 'aborted' &&
    String(purpose).startsWith('exchange_') &&
    String(error).startsWith('withdrawn:')
  );
}

/** Returns the place of a run in the order of acceptance, also of one that stands ahead of others. */
export function placeOf(run: Row | undefined): number {
  return Math.abs(Number(run?.['seq']));
}
