/**
 * Execution of a claimed run: play the turn, then close it. Whatever happens, the run gets exactly
 * one outcome, or is left to its lane's next owner.
 */
import type { AgentRuntime, Turn, TurnHost } from '../../agent/runtime.ts';
import { stoppedText } from '../../core/run-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { textOf } from '../../protocol/message.ts';
import type { AssistantMessage, ToolResultMessage, UserMessage } from '../../protocol/message.ts';
import { MAX_TIMER_MS } from '../../util/clock.ts';
import type { ActiveRun } from './active-runs.ts';
import { type AttemptCounter, startAttemptCounter } from './attempt-counter.ts';
import { buildTurn } from './build-turn.ts';
import { type ClaimedRun, timeoutText } from './claim-run.ts';
import type { RunEnd } from './close-run.ts';
import type { RunContext } from '../context.ts';
import type { ClosingTurn } from '../budgets/reserve-call.ts';
import { endIfInterrupted, INTERRUPTED_TEXT } from './interrupts.ts';
import { mustHoldLease } from './lease.ts';
import { CallLedger } from '../usage/call-ledger.ts';
import { settleRun } from './settle-run.ts';
import { tellClosed } from './tell-closed.ts';
import { tellMerged } from './tell-merged.ts';
import { finishToolCalls, performToolCalls, type PlayedRun } from './turn-host.ts';

/** How long a runtime may take to hand over its partial text after an abort. */
const ABORT_GRACE_MS = 250;
const OUTPUT_LIMIT_TEXT =
  'the model hit its output limit before it said anything (maxTokens of the model in models.providers)';

/** Runs a claimed run to its outcome. Resolves also when another owner took the lane, or at a drain. */
export async function executeRun(
  context: RunContext,
  { active, claimed }: { active: ActiveRun; claimed: ClaimedRun },
): Promise<void> {
  const { runId, sessionKey } = claimed.run;
  context.events.emit({
    type: 'started',
    runId,
    sessionKey,
    startedAt: claimed.run.startedAt ?? context.clock.now(),
    attempt: claimed.attempt,
  });
  tellMerged(context, claimed.merged);
  try {
    const end = await endOf(context, { active, claimed });
    if (end === 'left') return;
    const closed = await settleRun(context, { active, claimed, end });
    tellClosed(context, { closed, message: end.message });
  } catch (error) {
    // Another owner has the lane, or the store is gone: the row says what is true, and recovery goes on from it.
    const isFenced = error instanceof GatewayError && error.code === 'fenced';
    context.logger[isFenced ? 'warn' : 'error'](
      { runId, sessionKey, err: error },
      'run left to the next owner of its lane',
    );
  }
}

async function endOf(
  context: RunContext,
  { active, claimed }: { active: ActiveRun; claimed: ClaimedRun },
): Promise<RunEnd | 'left'> {
  const verdict = claimed.verdict ?? (await stopBefore(context, claimed));
  if (verdict !== undefined) return { ...verdict, message: undefined };
  const counter = startAttemptCounter(context, active);
  const streamed: Streamed = {
    partial: undefined,
    ledger: new CallLedger(),
    closing: claimed.closing,
  };
  const played = await raceAbort(active, () =>
    play(context, { active, claimed, counter, streamed }),
  );
  counter.stop();
  if (active.cause() === 'drain') {
    await counter.leave();
    return 'left';
  }
  if (played.kind === 'failed' && isFenced(played.error)) throw played.error;
  const end = toEnd(context, { active, claimed, played, streamed });
  return { ...end, unbooked: streamed.ledger.unbooked() };
}

/** A stop that was committed before the run was registered here has told nobody. */
async function stopBefore(
  context: RunContext,
  { run }: ClaimedRun,
): Promise<ClaimedRun['verdict']> {
  const row = await context.store.read((tx) => tx.runs.get(run.runId));
  if (row === undefined || row.stoppedBy === null) return undefined;
  return { state: 'aborted', error: stoppedText(row.stoppedBy) };
}

/** What of the message under way has been shown: all that is left of it when the runtime gives nothing back. */
interface Streamed {
  partial: AssistantMessage | undefined;
  ledger: CallLedger;
  /** the message under way is the last one that the budget allows */
  closing: ClosingTurn | undefined;
}

type Played =
  | { kind: 'message'; message: AssistantMessage }
  | { kind: 'failed'; error: unknown }
  /** aborted, and the runtime gave nothing back in time */
  | { kind: 'silent' };

/** A runtime that ignores its abort signal cannot keep the run open; its later writes are fenced off. */
async function raceAbort(
  active: ActiveRun,
  play: () => Promise<AssistantMessage>,
): Promise<Played> {
  const playing = play().then(
    (message): Played => ({ kind: 'message', message }),
    (error: unknown): Played =>
      error instanceof ClosingReply
        ? { kind: 'message', message: error.reply }
        : { kind: 'failed', error },
  );
  const { promise: gaveUp, resolve } = Promise.withResolvers<Played>();
  const giveUp = (): void => void setTimeout(() => resolve({ kind: 'silent' }), ABORT_GRACE_MS);
  if (active.signal.aborted) giveUp();
  active.signal.addEventListener('abort', giveUp, { once: true });
  const played = await Promise.race([playing, gaveUp]);
  active.signal.removeEventListener('abort', giveUp);
  return played;
}

function toEnd(
  context: RunContext,
  {
    active,
    claimed,
    played,
    streamed,
  }: { active: ActiveRun; claimed: ClaimedRun; played: Played; streamed: Streamed },
): RunEnd {
  const cause = active.cause();
  const left = cause === undefined ? undefined : streamed.partial;
  const message = played.kind === 'message' ? played.message : left;
  if (cause === 'timeout') {
    return { state: 'timeout', message, error: timeoutText(claimed.run.timeoutMs) };
  }
  if (cause === 'interrupted') return { state: 'aborted', message, error: INTERRUPTED_TEXT };
  if (cause === 'aborted') return { state: 'aborted', message, error: 'the run was stopped' };
  if (played.kind === 'failed') {
    context.logger.error({ runId: claimed.run.runId, err: played.error }, 'run failed');
    return { state: 'error', message: undefined, error: failureText(played.error) };
  }
  if (message?.stopReason === 'error' || message?.stopReason === 'aborted') {
    return { state: 'error', message, error: message.errorMessage ?? 'the model call failed' };
  }
  // thinking can use up all that a model may say: that is no silence (RU11)
  if (message?.stopReason === 'length' && textOf(message).trim() === '') {
    return { state: 'error', message, error: OUTPUT_LIMIT_TEXT };
  }
  if (streamed.closing !== undefined) {
    return { state: 'error', message, error: streamed.closing.error, isPartial: true };
  }
  return { state: 'ok', message, error: undefined };
}

/** A model that calls a tool in its last call, although it was offered none, has said what it had to say. */
class ClosingReply extends Error {
  readonly reply: AssistantMessage;
  constructor(message: AssistantMessage) {
    super('the last call of a run calls no tool');
    const content = message.content.filter(({ type }) => type !== 'toolCall');
    this.reply = { ...message, content, stopReason: 'stop' };
  }
}

async function play(
  context: RunContext,
  {
    active,
    claimed,
    counter,
    streamed,
  }: { active: ActiveRun; claimed: ClaimedRun; counter: AttemptCounter; streamed: Streamed },
): Promise<AssistantMessage> {
  const disarm = armDeadline(context, active, claimed.run.deadlineAt);
  try {
    // An interrupt that was accepted before this run was known as active.
    await endIfInterrupted(context, active);
    const built = await buildTurn(context, claimed);
    const { closing } = claimed;
    const shared = { active, claimed, counter, ledger: streamed.ledger, closing, need: undefined };
    const before: PlayedRun = { ...shared, ...built };
    const isChanged = await finishInterruptedCalls(context, before);
    streamed.closing = before.closing;
    // What the model is offered and what it may call come from one build.
    const current = isChanged ? await buildTurn(context, claimed) : built;
    const { turn } = current;
    const played: PlayedRun = { ...before, ...current };
    const runtime = context.runtimeFor(turn.model.provider);
    return await runTurn(context, { played, runtime, turn, streamed });
  } finally {
    disarm();
  }
}

/** The deadline is in the row, so that it holds across a restart; this only fires it (A16). */
function armDeadline(
  context: RunContext,
  active: ActiveRun,
  deadlineAt: number | null,
): () => void {
  if (deadlineAt === null) return () => {};
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const leftMs = deadlineAt - context.clock.now();
    timer = setTimeout(
      () => {
        if (leftMs > MAX_TIMER_MS) arm();
        else active.abort('timeout');
      },
      Math.min(leftMs, MAX_TIMER_MS),
    );
  };
  arm();
  return () => clearTimeout(timer);
}

/** After a crash: the planned calls of the last assistant message come before the next model call. */
async function finishInterruptedCalls(context: RunContext, played: PlayedRun): Promise<boolean> {
  if (played.claimed.attempt === 1) return false;
  const { runId, sessionId } = played.claimed.run;
  const { calls, hasResults } = await context.store.read(async (tx) => {
    const all = await tx.toolCalls.ofRun(runId);
    const position = all.at(-1)?.position;
    const entries = await tx.entries.ofRun(sessionId ?? '', runId);
    return {
      calls: all.filter((call) => call.position === position),
      hasResults: entries.at(-1)?.role !== 'assistant',
    };
  });
  if (calls.length === 0 || hasResults) return false;
  await finishToolCalls(context, played, calls);
  return true;
}

async function runTurn(
  context: RunContext,
  {
    played,
    runtime,
    turn,
    streamed,
  }: { played: PlayedRun; runtime: AgentRuntime; turn: Turn; streamed: Streamed },
): Promise<AssistantMessage> {
  const { runId, sessionKey } = turn;
  let text = '';
  let replace = turn.attempt > 1;
  const host: TurnHost = {
    delta: (delta) => {
      if (delta === '') return;
      text += delta;
      streamed.partial = partialMessage(turn, {
        text,
        kind: runtime.kind,
        at: context.clock.now(),
      });
      context.events.emit({ type: 'delta', runId, sessionKey, delta, text, replace });
      replace = false;
    },
    closing: () => played.closing?.prompt,
    toolCalls: async (message): Promise<(ToolResultMessage | UserMessage)[]> => {
      if (played.closing !== undefined) throw new ClosingReply(message);
      text = '';
      streamed.partial = undefined;
      played.ledger.answered();
      const results = await performToolCalls(context, played, message);
      streamed.closing = played.closing;
      played.ledger.ask();
      return results;
    },
    retried: (message) => played.ledger.fail(message),
  };
  mustHoldLease(context.store);
  played.ledger.ask();
  return runtime.runTurn(turn, host, played.active.signal);
}

function partialMessage(
  { model }: Turn,
  { text, kind, at }: { text: string; kind: string; at: number },
): AssistantMessage {
  return {
    role: 'assistant',
    content: [{ type: 'text', text }],
    api: kind,
    provider: model.provider,
    model: model.id,
    stopReason: 'aborted',
    timestamp: at,
  };
}

/** Our own errors say what to do; of others nothing is known that may be shown. */
function failureText(error: unknown): string {
  if (error instanceof GatewayError) return error.message;
  return 'the agent runtime failed; see the gateway log';
}

function isFenced(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'fenced';
}
