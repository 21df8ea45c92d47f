/** One step of purging a transcript: a bounded number of rows, in an order that a crash can cut anywhere. */
import { isOutcome } from '../../core/run-state.ts';
import type { WindowRow } from '../../store/session-repository.ts';
import type { PurgedRun, PurgeRange } from '../../store/purge-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { releaseAttachments } from '../attachments/release-attachments.ts';

/** Rows of one kind that one step takes. */
const ROWS = 100;
const RUNS = 20;
const PURGED_TEXT = 'what went wrong was purged with its session';

/** Does the next step. The last one takes the window, and the session when nothing of it is left. */
export async function purgeStep(tx: WriteTx, sessionId: string): Promise<void> {
  const window = await tx.windows.get(sessionId);
  if (window === undefined || window.purgeAt === null) return;
  if ((await tx.purge.entries(sessionId, ROWS)) > 0) return;
  const isLast = await isLastOf(tx, window);
  const range: PurgeRange = {
    sessionKey: window.sessionKey,
    until: isLast ? Number.MAX_SAFE_INTEGER : (window.endedAt ?? window.purgeAt),
  };
  const ofWindow = { ...range, sessionId: isLast ? undefined : sessionId };
  const runs = await tx.purge.runs(ofWindow, RUNS);
  if (runs.length > 0) return purgeRuns(tx, { sessionKey: window.sessionKey, runs });
  if ((await tx.purge.notes(ofWindow, ROWS)) > 0) return;
  if ((await tx.purge.deliveries(range, ROWS)) > 0) return;
  await tx.purge.window(sessionId);
  if (!isLast) return;
  await releaseAttachments(tx, window.sessionKey);
  await purgeSession(tx, window.sessionKey);
}

async function isLastOf(tx: WriteTx, { sessionKey }: WindowRow): Promise<boolean> {
  const session = await tx.sessions.get(sessionKey);
  if (session?.deletedAt === null) return false;
  const windows = await tx.windows.ofKey({ sessionKey, cursor: undefined, limit: 2 });
  return windows.length === 1;
}

/** Runs go with the calls they made. Of what those cost the sums stay: money that was spent stays true. */
async function purgeRuns(
  tx: WriteTx,
  { sessionKey, runs }: { sessionKey: string; runs: readonly PurgedRun[] },
): Promise<void> {
  let left = ROWS;
  for (const run of runs) {
    const { runId } = run;
    for (let gone = 1; gone > 0; left -= gone) {
      if (left <= 0) return;
      gone = await tx.purge.toolCalls(runId);
      gone += await tx.purge.modelCalls({ runId, sessionKey }, ROWS);
    }
    await ((await isKeyKept(tx, run))
      ? tx.purge.spendRun(run.runId, run.state === 'ok' ? null : PURGED_TEXT)
      : tx.purge.run(run.runId));
  }
}

/** A key given from outside may come again at any time; that of a call in a run cannot once the run has ended (A13). */
async function isKeyKept(tx: WriteTx, { runId, parentRunId }: PurgedRun): Promise<boolean> {
  const input = await tx.inputs.get(runId);
  if (input === undefined || input.idempotencyKey === null) return false;
  if (parentRunId === null) return true;
  const caller = await tx.runs.get(parentRunId);
  return caller !== undefined && !isOutcome(caller.state);
}

/** A session stays as a name while others descend from it: lineage decides what they may see. */
async function purgeSession(tx: WriteTx, key: string): Promise<void> {
  for (let next: string | null = key; next !== null;) {
    const session = await tx.sessions.get(next);
    if (session === undefined || session.deletedAt === null) return;
    const [window] = await tx.windows.ofKey({ sessionKey: next, cursor: undefined, limit: 1 });
    if (window !== undefined || (await tx.sessions.hasDescendants(next))) return;
    await tx.purge.session(next);
    next = session.spawnedBy;
  }
}
