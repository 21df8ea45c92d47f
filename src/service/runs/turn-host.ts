/**
 * The host of a turn: makes each step of a run durable and executes its tools (DESIGN 4).
 *
 * An assistant message is committed with its planned calls before any of them starts; each call is
 * committed as started before and as finished after; results enter the transcript in call order.
 */
import type { AgentTool, ToolOutcome } from '../../agent/runtime.ts';
import type { BudgetHold } from '../../core/budget.ts';
import { withoutAttachmentContents } from '../../core/redact-attachments.ts';
import { faultOf, toldOf } from '../../core/refusals.ts';
import { parseStoredMessage, parseStoredObject } from '../../core/stored-message.ts';
import { closedToolRefusal } from '../../core/tool-policy.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { AssistantMessage, ToolResultMessage, UserMessage } from '../../protocol/message.ts';
import { toolCallsOf } from '../../protocol/message.ts';
import { usableArguments } from '../../protocol/tools/usable-arguments.ts';
import type { ToolCallRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { ActiveRun } from './active-runs.ts';
import type { ClaimedRun } from './claim-run.ts';
import type { RunContext } from '../context.ts';
import { appendMessage } from '../messages/append-message.ts';
import type { AttemptCounter } from './attempt-counter.ts';
import { mustHoldLease } from './lease.ts';
import { steerInto } from './merge-runs.ts';
import { type ClosingTurn, mayBeBudgeted, reserveCall } from '../budgets/reserve-call.ts';
import { bookCalls, needAfter } from '../usage/book-calls.ts';
import type { CallLedger } from '../usage/call-ledger.ts';
import { tellMerged } from './tell-merged.ts';
import { warnOfLimit } from '../spawn/warn-of-limit.ts';
import { unreadableReporter } from '../unreadable-rows.ts';
import { briefly } from '../../util/briefly.ts';

/** One run while it is played. */
export interface PlayedRun {
  active: ActiveRun;
  claimed: ClaimedRun;
  counter: AttemptCounter;
  ledger: CallLedger;
  /** set from the moment on that its next model call is its last one */
  closing: ClosingTurn | undefined;
  /** what its next model call is expected to need, undefined = by its session */
  need: BudgetHold | undefined;
  /** tools that this session may call now, by name */
  offered: ReadonlyMap<string, AgentTool>;
  /** what keeps another one that there is out of this turn */
  closedBy: (name: string) => string | undefined;
  /** why one is not there, where that is known */
  whyMissing: (name: string) => string | undefined;
  /** folder that file tools are confined to */
  workspace: string;
}

/**
 * Commits an assistant message with its planned calls, does them, and returns their results in call
 * order, with the messages that people steered in after them.
 */
export async function performToolCalls(
  context: RunContext,
  played: PlayedRun,
  message: AssistantMessage,
): Promise<(ToolResultMessage | UserMessage)[]> {
  const planned = await planToolCalls(context, played, withUsableArguments(message));
  played.need = needAfter(context, message);
  played.counter.advance();
  return finishToolCalls(context, played, planned);
}

/** Does the calls of one assistant message that are not finished yet, and appends all their results. */
export async function finishToolCalls(
  context: RunContext,
  played: PlayedRun,
  calls: readonly ToolCallRow[],
): Promise<(ToolResultMessage | UserMessage)[]> {
  const results: ToolResultMessage[] = [];
  let steered: UserMessage[] = [];
  for (const call of calls) {
    const isLast = call === calls.at(-1);
    if (call.state === 'finished' && call.resultJson !== null) {
      results.push(storedResult(context, call, call.resultJson));
      if (isLast) steered = await appendResults(context, played, { results, finished: undefined });
      continue;
    }
    const result = await performCall(context, played, call);
    results.push(result);
    if (isLast) steered = await appendResults(context, played, { results, finished: call });
    else await commitFinished(context, played, { call, result });
    played.counter.advance();
  }
  return [...results, ...steered];
}

/** A runtime may hand over whatever a model wrote. */
function withUsableArguments(message: AssistantMessage): AssistantMessage {
  const content = message.content.map((block) =>
    block.type === 'toolCall' ? { ...block, arguments: usableArguments(block.arguments) } : block,
  );
  return { ...message, content };
}

async function planToolCalls(
  context: RunContext,
  { active, claimed, ledger }: PlayedRun,
  message: AssistantMessage,
): Promise<ToolCallRow[]> {
  const { runId } = active;
  const unbooked = ledger.unbooked();
  const stored = withoutAttachmentContents(message);
  const kept = toolCallsOf(stored);
  const rows = await context.store.write('plan-tools', async (tx) => {
    await tx.lanes.lock(active.fence);
    const earlier = await tx.toolCalls.ofRun(runId);
    const position = earlier.reduce((max, call) => Math.max(max, call.position + 1), 0);
    await append(tx, claimed, stored);
    const rows: ToolCallRow[] = [];
    for (const [callIndex, call] of toolCallsOf(message).entries()) {
      const row = {
        runId,
        position,
        callIndex,
        callId: call.id,
        name: call.name,
        argsJson: JSON.stringify(kept[callIndex]?.arguments),
        heldJson: kept[callIndex] === call ? null : JSON.stringify(call.arguments),
      };
      await tx.toolCalls.plan(row);
      rows.push({ ...row, state: 'planned', resultJson: null, startedAt: null, finishedAt: null });
    }
    await bookCalls(tx, context, { caller: claimed, message: stored, unbooked, isEnd: false });
    await tx.runs.update(runId, { attempts: 0 });
    await tx.sessions.update(claimed.run.sessionKey, { updatedAt: tx.now, systemSent: true });
    return rows;
  });
  ledger.booked();
  return rows;
}

async function performCall(
  context: RunContext,
  played: PlayedRun,
  call: ToolCallRow,
): Promise<ToolResultMessage> {
  const { active, claimed, offered } = played;
  const base = { runId: active.runId, sessionKey: claimed.run.sessionKey, toolCallId: call.callId };
  const tool = offered.get(call.name);
  if (call.state === 'started' && tool?.repeatable !== true) {
    return toResult(
      call,
      { text: 'interrupted, outcome unknown', isError: true },
      context.clock.now(),
    );
  }
  // The run is ending: what is planned stays undone.
  if (active.signal.aborted) throw new GatewayError('unavailable', `run ${active.runId} is ending`);
  const shown = parseStoredObject(call.argsJson);
  const args = call.heldJson === null ? shown : parseStoredObject(call.heldJson);
  if (shown === undefined || args === undefined) return unreadable(context, call, 'args_json');
  await context.store.write('start-tool', async (tx) => {
    await tx.lanes.lock(active.fence);
    await tx.toolCalls.start(call, tx.now);
  });
  mustHoldLease(context.store);
  context.events.emit({ ...base, type: 'tool', phase: 'start', name: call.name, args: shown });
  const outcome =
    tool === undefined
      ? notOffered(played, call.name)
      : await execute(played, { call, tool, args });
  // What a drain cut short is no outcome: the call stays started, and the next start judges it.
  if (active.cause() === 'drain') throw new GatewayError('unavailable', 'the gateway is stopping');
  const result = toResult(call, outcome, context.clock.now());
  context.events.emit({
    ...base,
    type: 'tool',
    phase: 'end',
    name: call.name,
    result: outcome.details ?? outcome.text,
    isError: outcome.isError,
  });
  return result;
}

function storedResult(
  context: RunContext,
  call: ToolCallRow,
  resultJson: string,
): ToolResultMessage {
  const result = parseStoredMessage(resultJson);
  return result?.role === 'toolResult' ? result : unreadable(context, call, 'result_json');
}

/** The run goes on: the model is told what is lost. */
function unreadable(
  context: RunContext,
  call: ToolCallRow,
  column: 'args_json' | 'result_json',
): ToolResultMessage {
  const { runId, position, callIndex } = call;
  const id = `${runId}:${position}:${callIndex}`;
  unreadableReporter(context)({ column: `tool_calls.${column}`, id });
  const text =
    column === 'args_json'
      ? 'the stored arguments of this call cannot be read; it was not done'
      : 'the call was done, but its stored result cannot be read';
  return toResult(call, { text, isError: true }, context.clock.now());
}

/** A tool that the session's policy closes is a refusal in the words of the session tools; any other name is a mistake. */
function notOffered(played: PlayedRun, name: string): ToolOutcome {
  const { claimed, offered, whyMissing } = played;
  const whom = `to session ${claimed.session.key} in this turn`;
  const closedBy = played.closedBy(name);
  const answer =
    closedBy === undefined
      ? faultOf('unknown_tool', `no tool ${briefly(name)} here${because(whyMissing(name))}`)
      : toldOf(closedToolRefusal({ tool: name, closedBy, whom }));
  const names = [...offered.keys()].toSorted().join(', ') || 'none';
  const details = { ...answer, error: `${answer.error}; offered: ${names}` };
  return { text: JSON.stringify(details), details, isError: true };
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

async function execute(
  { active, claimed, workspace }: PlayedRun,
  { call, tool, args }: { call: ToolCallRow; tool: AgentTool; args: Record<string, unknown> },
): Promise<ToolOutcome> {
  return tool.execute(args, {
    runId: active.runId,
    sessionKey: claimed.run.sessionKey,
    agentId: claimed.session.agentId,
    workspace,
    position: call.position,
    callIndex: call.callIndex,
    signal: active.signal,
  });
}

function commitFinished(
  context: RunContext,
  { active }: PlayedRun,
  { call, result }: { call: ToolCallRow; result: ToolResultMessage },
): Promise<void> {
  return context.store.write('finish-tool', async (tx) => {
    await tx.lanes.lock(active.fence);
    await tx.toolCalls.finish(call, JSON.stringify(result), tx.now);
    await tx.runs.update(active.runId, { attempts: 0 });
  });
}

/** The last call's end, the results' way into the transcript and what is steered in after them are one step. */
async function appendResults(
  context: RunContext,
  played: PlayedRun,
  { results, finished }: { results: ToolResultMessage[]; finished: ToolCallRow | undefined },
): Promise<UserMessage[]> {
  const { active, claimed, need } = played;
  const steered = await context.store.write('append-tool-results', async (tx) => {
    const lane = await tx.lanes.lock(active.fence);
    const last = results.at(-1);
    if (finished !== undefined && last !== undefined) {
      await tx.toolCalls.finish(finished, JSON.stringify(last), tx.now);
    }
    for (const result of results) await append(tx, claimed, result);
    await tx.runs.update(active.runId, { attempts: 0 });
    await tx.sessions.update(claimed.run.sessionKey, { updatedAt: tx.now });
    const noticed = await warnOfLimit(tx, context, claimed.run);
    const waiting = lane.pending > 1 ? await steerInto(tx, context, claimed.run) : undefined;
    const { run, session } = claimed;
    const closing = mayBeBudgeted(context, claimed)
      ? await reserveCall(tx, context, { run, session, need })
      : undefined;
    const messages = [...noticed, ...(waiting?.messages ?? [])];
    return { messages, merged: waiting?.merged ?? [], closing };
  });
  played.closing = steered.closing;
  tellMerged(context, steered.merged);
  return steered.messages;
}

async function append(
  tx: WriteTx,
  { run, session }: ClaimedRun,
  message: AssistantMessage | ToolResultMessage,
): Promise<void> {
  const { runId, sessionKey } = run;
  const sessionId = run.sessionId ?? session.sessionId;
  await appendMessage(tx, { sessionKey, sessionId, runId, message });
}

function toResult(call: ToolCallRow, outcome: ToolOutcome, now: number): ToolResultMessage {
  return {
    role: 'toolResult',
    toolCallId: call.callId,
    toolName: call.name,
    content: [{ type: 'text', text: outcome.text }, ...(outcome.images ?? [])],
    ...(outcome.details === undefined ? {} : { details: outcome.details }),
    isError: outcome.isError,
    timestamp: now,
  };
}
