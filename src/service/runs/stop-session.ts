/** `sessions_stop`, `runs.stop` and `chat.abort`: who may stop what, and what they are told (A5, A20). */
import { type OperatorCaller, operatorName, type SessionCaller } from '../../core/caller.ts';
import { type Refusal, toldOf } from '../../core/refusals.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsStopAnswer } from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsStopArgs } from '../../protocol/tools/session-tool-args.ts';
import type { ToolRefusal } from '../../protocol/tools/session-tools.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { RunServices } from '../context.ts';
import type { StopByOperator } from './run-answers.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import {
  type ResolvedTarget,
  resolveRunTarget,
  resolveTarget,
  type TargetResolution,
} from '../sessions/resolve-target.ts';
import type { StopTarget } from './collect-stops.ts';
import { lockCaller } from './lock-caller.ts';
import { findRun } from './find-run.ts';
import {
  type StopDecision,
  type StoppedRun,
  type StopOrder,
  type Stopping,
  stopRuns,
} from './stop-runs.ts';
import { unknownRun } from './wait-for-run.ts';
import { briefly } from '../../util/briefly.ts';

/** Stops for a session that may; tells it of the sessions that it may see. */
export function stopAsSession(
  services: RunServices,
  caller: SessionCaller,
  args: SessionsStopArgs,
): Promise<SessionsStopAnswer> {
  return stopRuns<ToolRefusal, SessionsStopAnswer>(services, {
    decide: async (tx) => {
      await lockCaller(tx, services, caller);
      return decideFor(tx, services, { caller, args });
    },
    answer: async (tx, { stopping }) => ({
      status: 'ok',
      stopped: await shownKeys(tx, services, { caller, stopped: stopping.stopped }),
    }),
  });
}

/**
 * Stops for the operator, and writes down what that has changed. Rejects `not_found` for what there is
 * not; a session without a run is no error.
 */
export function stopAsOperator(
  services: RunServices,
  caller: OperatorCaller,
  { sessionKey, runId, queued, method }: StopByOperator,
): Promise<{ status: 'ok'; stopped: string[]; runIds: string[] }> {
  return stopRuns<never, { status: 'ok'; stopped: string[]; runIds: string[] }>(services, {
    decide: async (tx) => {
      const key =
        sessionKey === undefined
          ? undefined
          : (await lookUpForOperator(tx, services.config(), sessionKey)).key;
      const target = await targetOf(tx, { key, runId, queued: queued ?? false });
      return { order: { by: 'operator', stopKey: undefined, target } };
    },
    answer: async (tx, done) => {
      await auditStop(tx, { ...done, caller, method });
      const { stopped } = done.stopping;
      return {
        status: 'ok',
        stopped: [...new Set(stopped.map((run) => run.sessionKey))],
        runIds: stopped.map((run) => run.runId),
      };
    },
  });
}

/** A stop that found nothing to end has changed nothing. */
async function auditStop(
  tx: WriteTx,
  stop: {
    order: StopOrder;
    stopping: Stopping;
    caller: OperatorCaller;
    method: StopByOperator['method'];
  },
): Promise<void> {
  const { target } = stop.order;
  const { stopped, exchanges } = stop.stopping;
  if (stopped.length + exchanges === 0) return;
  const isRun = target.type === 'run';
  await audit(tx, {
    actor: operatorName(stop.caller),
    action: stop.method,
    subjectKind: target.type,
    subjectId: isRun ? target.run.runId : target.key,
    sessionKey: isRun ? target.run.sessionKey : target.key,
    detail: { runs: stopped.length, exchanges },
  });
}

async function targetOf(
  tx: ReadTx,
  { key, runId, queued }: { key: string | undefined; runId: string | undefined; queued: boolean },
): Promise<StopTarget> {
  if (runId === undefined) {
    if (key === undefined) throw new GatewayError('invalid_request', 'give sessionKey or runId');
    return { type: 'session', key, queued };
  }
  const run = await findRun(tx, runId);
  if (run === undefined) throw unknownRun(runId);
  if (key !== undefined && run.sessionKey !== key) {
    throw new GatewayError(
      'invalid_request',
      `run ${briefly(runId)} is not one of session ${briefly(key)}`,
    );
  }
  return { type: 'run', run };
}

async function decideFor(
  tx: WriteTx,
  services: RunServices,
  { caller, args }: { caller: SessionCaller; args: SessionsStopArgs },
): Promise<StopDecision<ToolRefusal>> {
  const found = await findStoppable(tx, services.config(), { caller, args });
  if ('error' in found) return { refused: toldOf(found) };
  const { key, run } = found;
  const target: StopTarget =
    run === undefined ? { type: 'session', key, queued: false } : { type: 'run', run };
  return { order: { by: caller.sessionKey, stopKey: keyOf(caller), target } };
}

/** Returns the session, or the run of one, that the caller may stop, or why not. Writes nothing. */
export async function findStoppable(
  tx: ReadTx,
  config: Config,
  { caller, args }: { caller: SessionCaller; args: SessionsStopArgs },
): Promise<(ResolvedTarget & { run: RunRow | undefined }) | Refusal> {
  const query = { config, caller, verb: 'stop' } as const;
  const { runId, sessionKey = '' } = args;
  const run = runId === undefined ? undefined : await findRun(tx, runId);
  const found: TargetResolution =
    runId === undefined
      ? await resolveTarget(tx, { ...query, address: { sessionKey } })
      : await resolveRunTarget(tx, query, { runId, sessionKey: run?.sessionKey });
  if (!found.ok) return found;
  if (!found.isSelf) return { ...found, run };
  const error = 'cannot stop your own session: end your turn instead, or stop what you spawned';
  return { status: 'error', error, rule: 'self_stop' };
}

/** A stop reaches further than its caller may see; of that it is told nothing (A5). */
async function shownKeys(
  tx: ReadTx,
  services: RunServices,
  { caller, stopped }: { caller: SessionCaller; stopped: readonly StoppedRun[] },
): Promise<string[]> {
  const shown: string[] = [];
  for (const sessionKey of new Set(stopped.map((run) => run.sessionKey))) {
    const query = { config: services.config(), caller, verb: 'stop' } as const;
    const found = await resolveTarget(tx, { ...query, address: { sessionKey } });
    if (found.ok) shown.push(found.shownKey);
  }
  return shown;
}

function keyOf({ run, sessionKey, idempotencyKey }: SessionCaller): string | undefined {
  if (run !== undefined) return `${run.runId}:${run.position}:${run.callIndex}`;
  return idempotencyKey === undefined ? undefined : `${sessionKey} ${idempotencyKey}`;
}
