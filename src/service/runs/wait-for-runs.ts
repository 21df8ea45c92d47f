/** `sessions_wait` and `runs.wait`: waiting for several runs at once (A20). */
import type { SessionCaller } from '../../core/caller.ts';
import { toldOf } from '../../core/refusals.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { RunWaitAnswer } from '../../protocol/answers/run-answers.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type {
  SessionsWaitAnswer,
  SessionsWaited,
  WaitedRun,
} from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsWaitArgs } from '../../protocol/tools/session-tool-args.ts';
import { WAIT_TARGETS_MAX, WAIT_TIMEOUT_DEFAULT } from '../../protocol/tools/tool-limits.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { RunServices } from '../context.ts';
import type { WaitForRuns } from './run-answers.ts';
import { lockCaller } from './lock-caller.ts';
import {
  operatorTargets,
  rowTargets,
  sessionTargets,
  type TargetsOrRefusal,
  type WaitedTarget,
} from './wait-targets.ts';
import { answerOf, awaitRuns, toldToAnother, type WaitMode } from './wait-for-run.ts';
import {
  awaitInRun,
  type Interruption,
  openWait,
  type WaitingCall,
  waitsOfCall,
} from './wait-in-run.ts';

/** Who is answered: another session is told no credentials, the operator all as it was said (A8). */
type Reader = 'session' | 'operator';

/** Waits as a session: in a run by rows that survive a restart, else by reading. */
export async function waitAsSession(
  services: RunServices,
  caller: SessionCaller,
  args: SessionsWaitArgs,
): Promise<SessionsWaitAnswer> {
  const mode = args.mode ?? 'all';
  const timeoutMs = (args.timeoutSeconds ?? WAIT_TIMEOUT_DEFAULT) * 1000;
  const { run: call } = caller;
  if (call !== undefined && timeoutMs > 0) {
    return waitInRun(services, { caller, call, args, mode, timeoutMs });
  }
  const targets = await services.store.read((tx) => sessionTargets(tx, services, { caller, args }));
  if ('error' in targets) return toldOf(targets);
  const wait = { targets: targets.targets, mode, timeoutMs, signal: caller.gone } as const;
  return waitOutside(services, { ...wait, reader: 'session' });
}

/** Waits as the operator. Rejects `not_found` for what there is not. */
export async function waitAsOperator(
  services: RunServices,
  { mode, timeoutMs, signal, ...named }: WaitForRuns,
): Promise<SessionsWaited> {
  const { runIds = [], sessionKeys = [] } = named;
  const count = runIds.length + sessionKeys.length;
  if (count === 0 || count > WAIT_TARGETS_MAX) {
    throw new GatewayError(
      'invalid_request',
      `runs.wait: give runIds or sessionKeys, 1 to ${WAIT_TARGETS_MAX} together; got ${count}`,
    );
  }
  const targets = await services.store.read((tx) =>
    operatorTargets(tx, services.config(), { runIds, sessionKeys }),
  );
  return waitOutside(services, { targets, mode, timeoutMs, reader: 'operator', signal });
}

async function waitOutside(
  services: RunServices,
  wait: {
    targets: readonly WaitedTarget[];
    mode: WaitMode;
    timeoutMs: number;
    reader: Reader;
    signal: AbortSignal | undefined;
  },
): Promise<SessionsWaited> {
  const { targets, mode, timeoutMs, reader, signal } = wait;
  const runs = await awaitRuns(services, {
    runIds: targets.map((target) => target.runId),
    mode,
    deadlineAt: services.clock.now() + timeoutMs,
    signal,
  });
  return waitedAnswer(services, { targets, runs, mode, reader, interruptedBy: undefined });
}

interface WaitInRun {
  caller: SessionCaller;
  call: WaitingCall;
  args: SessionsWaitArgs;
  mode: WaitMode;
  timeoutMs: number;
}

async function waitInRun(services: RunServices, wait: WaitInRun): Promise<SessionsWaitAnswer> {
  const { call, mode } = wait;
  const opened = await services.store.write('accept-wait', (tx) => accept(tx, services, wait));
  if ('error' in opened) return toldOf(opened);
  const { targets } = opened;
  const interruptedBy = await awaitInRun(services, { call, mode });
  const runs = await services.store.read((tx) => readTargets(tx, targets));
  return waitedAnswer(services, { targets, runs, mode, reader: 'session', interruptedBy });
}

/** Who is waited for is decided once: done again after a crash, the call goes on with its own rows. */
async function accept(
  tx: WriteTx,
  services: RunServices,
  { caller, call, args, mode, timeoutMs }: WaitInRun,
): Promise<TargetsOrRefusal> {
  await lockCaller(tx, services, caller);
  const rows = await waitsOfCall(tx, call);
  const found: TargetsOrRefusal =
    rows.length > 0
      ? { targets: rowTargets(services.config(), { caller, rows }) }
      : await sessionTargets(tx, services, { caller, args });
  if ('error' in found) return found;
  const cycle = await openWait(tx, services, { caller, targets: found.targets, mode, timeoutMs });
  return cycle ?? found;
}

/** Returns the runs of these targets, in their order. */
export async function readTargets(tx: ReadTx, targets: readonly WaitedTarget[]): Promise<RunRow[]> {
  const runs: RunRow[] = [];
  for (const { runId } of targets) {
    runs.push(must(await tx.runs.get(runId), `run ${runId} vanished`));
  }
  return runs;
}

/** Returns what is told of the runs of a wait; `runs` are those of `targets`, in their order. */
export function waitedAnswer(
  services: Pick<RunServices, 'config'>,
  {
    targets,
    runs,
    mode,
    reader,
    interruptedBy,
  }: {
    targets: readonly WaitedTarget[];
    runs: readonly RunRow[];
    mode: WaitMode;
    reader: Reader;
    interruptedBy: Interruption | undefined;
  },
): SessionsWaited {
  const done: WaitedRun[] = [];
  const pending: SessionsWaited['pending'] = [];
  const config = services.config();
  const { maxBytes } = config.tools.sessions_history;
  for (const [index, run] of runs.entries()) {
    const target = must(targets[index], `run ${run.runId} was not asked for`);
    const ids = { runId: target.runId, sessionKey: target.shownKey };
    if (isOutcome(run.state)) {
      const maxLength = Math.floor(maxBytes / runs.length);
      const answer = answerOf(run, 0);
      const told =
        reader === 'operator' ? answer : toldToAnother(config, { answer, replyLength: maxLength });
      done.push({ ...ids, ...toDone(told, maxLength) });
    } else pending.push({ ...ids, messageState: run.state });
  }
  const isEnough = mode === 'all' ? pending.length === 0 : done.length > 0;
  const isPart = done.length > 0 || interruptedBy !== undefined;
  return {
    status: isEnough ? 'ok' : isPart ? 'partial' : 'timeout',
    done,
    pending,
    ...(isEnough || interruptedBy === undefined ? {} : { interruptedBy }),
  };
}

/** Many replies share the cap of a history, because they go into one context. */
function toDone(
  { runId, status, outcome, reply, error }: RunWaitAnswer,
  maxLength: number,
): Omit<WaitedRun, 'runId' | 'sessionKey'> {
  return {
    status,
    outcome: must(outcome, `run ${runId} goes on`),
    ...(reply === undefined ? {} : { reply: reply.slice(0, maxLength) }),
    ...(reply !== undefined && reply.length > maxLength ? { replyTruncated: true as const } : {}),
    ...(reply === '' ? { noReply: true as const } : {}),
    ...(error === undefined ? {} : { error }),
  };
}
