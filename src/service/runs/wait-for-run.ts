/** Waiting for the outcome of runs. The wait belongs to the server; the rows decide (A9, A12, DESIGN 4). */
import { maskSecrets } from '../../core/mask-secrets.ts';
import { isOutcome } from '../../core/run-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { InputRow } from '../../store/input-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx, Store } from '../../store/store.ts';
import { type Clock, MAX_TIMER_MS } from '../../util/clock.ts';
import { isNote } from './accept-run.ts';
import type { RunWatch } from './run-watch.ts';
import type { RunWaitAnswer } from '../../protocol/answers/run-answers.ts';
import { briefly } from '../../util/briefly.ts';
import { wordsOfAnother } from '../sessions/words-of-another.ts';

export interface WaitDeps {
  store: Store;
  clock: Clock;
  watch: RunWatch;
}

/** Which of several runs have to end. */
export type WaitMode = 'any' | 'all';

export interface RunsWait {
  runIds: readonly string[];
  mode: WaitMode;
  deadlineAt: number;
  signal?: AbortSignal | undefined;
  /** the run that waits: its changes wake the wait as well, and this says whether one of them ends it */
  waiter?: { runId: string; isInterrupted(tx: ReadTx): Promise<boolean> };
}

/**
 * Returns the rows as they are when the mode is satisfied, the deadline has passed, the signal aborts
 * or the waiter is interrupted.
 */
export async function awaitRuns(deps: WaitDeps, wait: RunsWait): Promise<RunRow[]> {
  const { runIds, mode, waiter, signal } = wait;
  const woken = waiter === undefined ? runIds : [...runIds, waiter.runId];
  const subscription = deps.watch.subscribe(woken);
  try {
    for (;;) {
      const { runs, isInterrupted } = await deps.store.read(async (tx) => ({
        runs: await readRuns(tx, runIds),
        isInterrupted: (await waiter?.isInterrupted(tx)) ?? false,
      }));
      const leftMs = wait.deadlineAt - deps.clock.now();
      const isOver = isInterrupted || leftMs <= 0 || (signal?.aborted ?? false);
      if (isOver || isSatisfied(runs, mode)) return runs;
      await subscription.next({ delayMs: Math.min(leftMs, MAX_TIMER_MS), signal });
    }
  } finally {
    subscription.close();
  }
}

/** True when as many of the runs have ended as the mode asks for. */
function isSatisfied(runs: readonly RunRow[], mode: WaitMode): boolean {
  if (mode === 'all') return runs.every((run) => isOutcome(run.state));
  return runs.length === 0 || runs.some((run) => isOutcome(run.state));
}

async function readRuns(tx: ReadTx, runIds: readonly string[]): Promise<RunRow[]> {
  const runs: RunRow[] = [];
  for (const runId of runIds) {
    const run = await tx.runs.get(runId);
    if (run === undefined) throw unknownRun(runId);
    runs.push(run);
  }
  return runs;
}

/** `agent.wait`: answers at the end of the run or at the limit, from the first call or the tenth, before or after a restart. */
export async function waitForRun(
  deps: WaitDeps,
  wait: { runId: string; timeoutMs: number; signal?: AbortSignal },
): Promise<RunWaitAnswer> {
  const input = await deps.store.read((tx) => tx.inputs.get(wait.runId));
  if (input !== undefined && isNote(input)) return noteAnswer(input);
  const [run] = await awaitRuns(deps, {
    runIds: [wait.runId],
    mode: 'all',
    deadlineAt: deps.clock.now() + wait.timeoutMs,
    signal: wait.signal,
  });
  if (run === undefined) throw unknownRun(wait.runId);
  return answerOf(run, wait.timeoutMs);
}

/** Returns what a run row says to whoever waits for it, the same words for every door. */
export function answerOf(run: RunRow, waitedMs: number): RunWaitAnswer {
  const times = {
    ...(run.startedAt === null ? {} : { startedAt: run.startedAt }),
    ...(run.endedAt === null ? {} : { endedAt: run.endedAt }),
  };
  const merged = run.mergedInto === null ? {} : { mergedInto: run.mergedInto };
  const base = { runId: run.runId, sessionKey: run.sessionKey, ...merged, ...times };
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

/**
 * Returns the answer as another session is told it (A8): an error without the credentials that it quotes,
 * a reply without its own unless `tools.sessions_history.mask` is off; of that at most `replyLength`.
 */
export function toldToAnother(
  config: Config,
  { answer, replyLength = Infinity }: { answer: RunWaitAnswer; replyLength?: number },
): RunWaitAnswer {
  const { reply, error } = answer;
  return {
    ...answer,
    ...(reply !== undefined && { reply: wordsOfAnother(config, reply, replyLength) }),
    ...(error !== undefined && { error: maskSecrets(error) }),
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
  return `no outcome ${waitedText(waitedMs)}; the message was accepted and its run is still ${state}: do not send it again, wait for its runId or read sessions_history later`;
}

/** In whole or tenth seconds, without the name of a parameter: each door calls its own differently. */
function waitedText(waitedMs: number): string {
  if (waitedMs <= 0) return 'yet';
  if (waitedMs < 100) return 'within 0.1 s';
  return `within ${Math.round(waitedMs / 100) / 10} s`;
}

/** Returns the error for an id that no accepted message has. */
export function unknownRun(runId: string): GatewayError {
  return new GatewayError(
    'not_found',
    `unknown runId ${briefly(runId)}; use the runId of an accepted message`,
  );
}
