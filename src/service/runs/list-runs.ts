/** `runs.get` and `runs.list`: the operator's view of runs, in the words of `agent.wait` (A12). */
import { isOutcome } from '../../core/run-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { RUN_STATES } from '../../protocol/words.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { RunCursor } from '../../store/run-repository.ts';
import { withoutNull } from '../../util/without-null.ts';
import type { ServiceContext } from '../context.ts';
import { readFilteredPage } from '../filtered-page.ts';
import { openPageCursor, pageCursor } from '../page-cursor.ts';
import type { RunsQuery } from './run-answers.ts';
import type { RunsPage, RunView } from '../../protocol/answers/run-answers.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import { isNote } from './accept-run.ts';
import { findRun, noteText } from './find-run.ts';
import { unknownRun } from './wait-for-run.ts';

const DEFAULT_LIMIT = 50;
const LIMIT_MAX = 200;

/** Returns one run, also by the id of a message that another run took in. */
export function getRun({ store }: Pick<ServiceContext, 'store'>, runId: string): Promise<RunView> {
  return store.read(async (tx) => {
    const run = await findRun(tx, runId);
    if (run !== undefined) return { ...toRunView(run), runId };
    const input = await tx.inputs.get(runId);
    if (input === undefined || !isNote(input)) throw unknownRun(runId);
    throw new GatewayError('not_found', noteText(input));
  });
}

/** Returns a page of runs, the newest first, of one session, in one state, or of all. */
export function listRuns(context: ServiceContext, query: RunsQuery): Promise<RunsPage> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, LIMIT_MAX);
  // A page of a session goes on from a place in its lane, a page of all from a run.
  const form = query.sessionKey === undefined ? 'run' : 'seq';
  const { cursor } = query;
  const position = openPageCursor(context, { method: 'runs.list', form, cursor });
  return context.store.read(async (tx) => {
    const page =
      query.sessionKey === undefined
        ? await pageOfAll(tx, { state: query.state, position, limit })
        : await pageOfSession(tx, context, { ...query, position, limit });
    return {
      runs: page.runs.map(toRunView),
      count: page.runs.length,
      limitApplied: limit,
      hasMore: page.next !== undefined,
      ...(page.next === undefined ? {} : { nextCursor: pageCursor(context, form, page.next) }),
    };
  });
}

/** When a run was accepted, and what tells it from others of the same millisecond. */
type Position = { updatedAt: number; key: string };
interface Page {
  runs: RunRow[];
  next: Position | undefined;
}

/** Each state has an index of its own, so the newest of all are among the newest of each. */
async function pageOfAll(
  tx: ReadTx,
  {
    state,
    position,
    limit,
  }: { state: RunRow['state'] | undefined; position: Position | undefined; limit: number },
): Promise<Page> {
  const cursor: RunCursor | undefined =
    position === undefined ? undefined : { acceptedAt: position.updatedAt, runId: position.key };
  const found: RunRow[] = [];
  for (const each of state === undefined ? RUN_STATES : [state]) {
    const { rows } = await readFilteredPage<RunRow>({
      limit: limit + 1,
      read: (after, count) =>
        tx.runs.pageOfState({ state: each, cursor: after ?? cursor, limit: count }),
      keep: () => true,
    });
    found.push(...rows);
  }
  found.sort((a, b) => b.acceptedAt - a.acceptedAt || (a.runId < b.runId ? 1 : -1));
  const runs = found.slice(0, limit);
  const last = found.length > limit ? runs.at(-1) : undefined;
  return {
    runs,
    next: last === undefined ? undefined : { updatedAt: last.acceptedAt, key: last.runId },
  };
}

async function pageOfSession(
  tx: ReadTx,
  context: ServiceContext,
  query: {
    sessionKey?: string;
    state?: RunRow['state'];
    position: Position | undefined;
    limit: number;
  },
): Promise<Page> {
  const { state, position, limit } = query;
  const { key } = await lookUpForOperator(tx, context.config(), query.sessionKey ?? '');
  const start =
    position === undefined
      ? undefined
      : { acceptedAt: position.updatedAt, seq: Number(position.key) };
  const { rows, next } = await readFilteredPage<RunRow>({
    limit,
    read: (after, count) =>
      tx.runs.pageOfSession({ sessionKey: key, after: after ?? start, limit: count }),
    keep: (run) => state === undefined || run.state === state,
  });
  return {
    runs: rows,
    next: next === undefined ? undefined : { updatedAt: next.acceptedAt, key: String(next.seq) },
  };
}

function toRunView(run: RunRow): RunView {
  const isDone = isOutcome(run.state);
  const optional = {
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    deadlineAt: isDone ? null : run.deadlineAt,
    parentRunId: run.parentRunId,
    model: run.model,
    stoppedBy: run.stoppedBy,
    mergedInto: run.mergedInto,
    error: run.error,
    reply: run.state === 'ok' ? (run.reply ?? '') : null,
  };
  return {
    runId: run.runId,
    sessionKey: run.sessionKey,
    messageState: isOutcome(run.state) ? 'done' : run.state,
    ...(isOutcome(run.state) ? { outcome: run.state } : {}),
    purpose: run.purpose,
    runClass: run.runClass,
    acceptedAt: run.acceptedAt,
    rootRunId: run.rootRunId,
    hops: run.hops,
    ...withoutNull(optional),
  };
}
