/**
 * Messages that join the turn of another run (A12, B12): collected at its claim, or steered in after its
 * tool results. Each keeps its runId and takes the outcome of that run.
 */
import type { UserMessage } from '../../protocol/message.ts';
import type { RunPurpose, RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { isOutcome, moveRun } from '../../core/run-state.ts';
import type { RunContext } from '../context.ts';
import { appendAhead, appendInput } from './append-input.ts';
import { acceptedOrder } from './interrupts.ts';

/** Most messages that one turn takes in; the rest joins the turn after. */
const MAX_MERGED = 100;

/** Turns that people may steer; the others speak to another agent, or have no tools. */
const STEERABLE: ReadonlySet<RunPurpose> = new Set<RunPurpose>(['message', 'task']);

/**
 * Returns the waiting runs whose messages share the turn of `head`: the next ones of its mode, of the
 * same route and settings. What has a turn of its own keeps its place, so none is taken across it.
 */
export async function waitingForTurnOf(tx: WriteTx, head: RunRow): Promise<RunRow[]> {
  if (head.queueMode !== 'collect' && head.queueMode !== 'interrupt') return [];
  const queued = await tx.runs.queued(head.sessionKey, MAX_MERGED);
  const behind = queued.filter(({ runId }) => runId !== head.runId);
  const other = behind.findIndex(({ queueMode }) => queueMode !== head.queueMode);
  return behind
    .slice(0, other < 0 ? undefined : other)
    .filter((run) => turnOf(run) === turnOf(head));
}

function turnOf({ runClass, deliver, routeJson, optionsJson, timeoutMs }: RunRow): string {
  return JSON.stringify([runClass, deliver, routeJson, optionsJson, timeoutMs]);
}

/**
 * Appends the messages to the transcript of a run that has its lane, in the order of their acceptance,
 * and returns them with the runs that joined it. A run whose message was lost from the store stays
 * where it is: its own claim ends it.
 */
export async function joinTurn(
  tx: WriteTx,
  context: RunContext,
  { run, messages }: { run: RunRow; messages: readonly RunRow[] },
): Promise<{ appended: UserMessage[]; merged: RunRow[] }> {
  const appended: UserMessage[] = [];
  const merged: RunRow[] = [];
  for (const message of messages.toSorted((a, b) => acceptedOrder(a) - acceptedOrder(b))) {
    const input = await tx.inputs.get(message.runId);
    if (input === undefined) continue;
    appended.push(await appendInput(tx, context, { input, run }));
    if (message.runId === run.runId) continue;
    await merge(tx, { run, message });
    merged.push(message);
  }
  return { appended, merged };
}

/**
 * Appends what people want to steer this run with, after its tool results. Returns the messages for
 * the model, and the runs that ended up in this one; a message of `steer-backlog` has its own turn later.
 */
export async function steerInto(
  tx: WriteTx,
  context: RunContext,
  run: RunRow,
): Promise<{ messages: UserMessage[]; merged: RunRow[] }> {
  if (!STEERABLE.has(run.purpose)) return { messages: [], merged: [] };
  const queued = await tx.runs.queued(run.sessionKey, MAX_MERGED);
  const messages: UserMessage[] = [];
  const merged: RunRow[] = [];
  for (const message of queued.toSorted((a, b) => acceptedOrder(a) - acceptedOrder(b))) {
    if (message.queueMode === 'steer') {
      const joined = await joinTurn(tx, context, { run, messages: [message] });
      messages.push(...joined.appended);
      merged.push(...joined.merged);
    }
    if (message.queueMode === 'steer-backlog') {
      const input = await tx.inputs.get(message.runId);
      if (input === undefined) continue;
      messages.push(await appendAhead(tx, context, { input, run }));
      await tx.runs.update(message.runId, { queueMode: 'followup' });
    }
  }
  return { messages, merged };
}

/** Gives the runs that were taken into this one its outcome, and returns them. */
export async function endMerged(tx: WriteTx, run: RunRow): Promise<RunRow[]> {
  const open = (await tx.runs.mergedInto(run.runId)).filter(({ state }) => !isOutcome(state));
  const { endedAt, reply, error } = run;
  const outcome = must(isOutcome(run.state) ? run.state : undefined, `run ${run.runId} goes on`);
  const ended: RunRow[] = [];
  for (const merged of open) {
    const state = moveRun(merged, { type: 'end', outcome });
    await tx.runs.update(merged.runId, { state, endedAt, reply, error });
    tx.signal({ type: 'run', runId: merged.runId });
    ended.push({ ...merged, state, endedAt, reply, error });
  }
  return ended;
}

async function merge(
  tx: WriteTx,
  { run, message }: { run: RunRow; message: RunRow },
): Promise<void> {
  await tx.runs.update(message.runId, {
    state: moveRun(message, { type: 'claim' }),
    sessionId: run.sessionId,
    startedAt: tx.now,
    mergedInto: run.runId,
  });
  await tx.lanes.removeQueued(run.sessionKey);
  tx.signal({ type: 'run', runId: message.runId });
}
