/** Waiting for the outcome of a run. The wait belongs to the server; the row decides (A9, A12, DESIGN 4). */
import { isOutcome } from '../../core/run-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { InputRow, RunRow } from '../../store/rows.ts';
import type { Store } from '../../store/store.ts';
import { type Clock, MAX_TIMER_MS } from '../../util/clock.ts';
import { isNote } from './accept-run.ts';
import type { RunWatch } from './run-watch.ts';
import type { RunWaitAnswer } from '../services.ts';

export interface WaitDeps {
  store: Store;
  clock: Clock;
  watch: RunWatch;
}

/** Returns the row as it is when the run has ended, the deadline has passed or the signal aborts. */
export async function awaitRunEnd(
  deps: WaitDeps,
  wait: { runId: string; deadlineAt: number; signal?: AbortSignal | undefined },
): Promise<RunRow> {
  const subscription = deps.watch.subscribe(wait.runId);
  try {
    for (;;) {
      const run = await deps.store.read((tx) => tx.runs.get(wait.runId));
      if (run === undefined) throw unknownRun(wait.runId);
      const leftMs = wait.deadlineAt - deps.clock.now();
      if (isOutcome(run.state) || leftMs <= 0 || (wait.signal?.aborted ?? false)) return run;
      await subscription.next({ delayMs: Math.min(leftMs, MAX_TIMER_MS), signal: wait.signal });
    }
  } finally {
    subscription.close();
  }
}

/** `agent.wait`: answers at the end of the run or at the limit, from the first call or the tenth, before or after a restart. */
export async function waitForRun(
  deps: WaitDeps,
  wait: { runId: string; timeoutMs: number; signal?: AbortSignal },
): Promise<RunWaitAnswer> {
  const input = await deps.store.read((tx) => tx.inputs.get(wait.runId));
  if (input !== undefined && isNote(input)) return noteAnswer(input);
  const run = await awaitRunEnd(deps, {
    runId: input?.runId ?? wait.runId,
    deadlineAt: deps.clock.now() + wait.timeoutMs,
    signal: wait.signal,
  });
  return { ...answerOf(run, wait.timeoutMs), runId: wait.runId };
}

/** Returns what a run row says to whoever waits for it, the same words for every door. */
export function answerOf(run: RunRow, waitedMs: number): RunWaitAnswer {
  const times = {
    ...(run.startedAt === null ? {} : { startedAt: run.startedAt }),
    ...(run.endedAt === null ? {} : { endedAt: run.endedAt }),
  };
  const base = { runId: run.runId, sessionKey: run.sessionKey, ...times };
  if (!isOutcome(run.state)) {
    const state = run.state;
    return {
      ...base,
      status: 'timeout',
      messageState: state,
      error: stillGoingText(state, waitedMs),
    };
  }
  const status = run.state === 'aborted' ? 'error' : run.state;
  const error = run.error ?? undefined;
  return {
    ...base,
    status,
    messageState: 'done',
    outcome: run.state,
    ...(run.state === 'ok' ? { reply: run.reply ?? '' } : {}),
    ...(run.state === 'ok' || error === undefined ? {} : { error }),
  };
}

/** A note has no turn of its own: it is done once it stands in the transcript (A12). */
function noteAnswer(note: InputRow): RunWaitAnswer {
  const base = { runId: note.inputId, sessionKey: note.sessionKey };
  if (note.state === 'appended') {
    return { ...base, status: 'ok', messageState: 'done', outcome: 'ok', reply: '' };
  }
  return {
    ...base,
    status: 'timeout',
    messageState: 'queued',
    error: 'the note joins the next turn of the session; it starts none',
  };
}

function stillGoingText(state: 'queued' | 'running' | 'waiting', waitedMs: number): string {
  return `no outcome within ${waitedMs / 1000} s (timeoutSeconds); the message was accepted and its run is still ${state}: do not send it again, wait for its runId or read sessions_history later`;
}

function unknownRun(runId: string): GatewayError {
  return new GatewayError(
    'not_found',
    `unknown runId ${runId}; use the runId of an accepted message`,
  );
}
