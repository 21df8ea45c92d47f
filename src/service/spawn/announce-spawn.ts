/** Telling a requester how its child ended (A18, B7.7). */
import { announceText } from '../../core/announce-text.ts';
import { SPAWN_ANNOUNCE_TEXT } from '../../core/prompts.ts';
import { isOutcome } from '../../core/run-state.ts';
import { parseStoredMessage } from '../../core/stored-message.ts';
import { visibleText } from '../../core/silence.ts';
import type { Provenance } from '../../protocol/message.ts';
import { textOf } from '../../protocol/message.ts';
import type { AnnounceStatus, RunOutcome } from '../../protocol/words.ts';
import type { EntryRow, RunRow, SpawnRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { startArchiveClock } from '../archive/archive-clock.ts';
import { acceptNote, acceptRun } from '../runs/accept-run.ts';
import type { RunContext } from '../context.ts';
import { announceRunIdOf } from './follow-spawn.ts';
import { putOutgoing, routeOf, storedRoute } from '../delivery/outbox.ts';
import { transcriptPathOf } from '../sessions/session-row-view.ts';

const STATUS: Record<RunOutcome, AnnounceStatus> = {
  ok: 'success',
  error: 'error',
  timeout: 'timeout',
  aborted: 'error',
};

/** Handles the job `announce-spawn`: an announce turn first where there is one, then the announce itself, once. */
export function announceSpawn(context: RunContext, childKey: string): Promise<void> {
  return context.store.write('announce-spawn', async (tx) => {
    await tx.jobs.remove(`announce-spawn:${childKey}`);
    const spawn = await tx.spawns.get(childKey);
    if (spawn === undefined || spawn.state === 'settled') return;
    const task = must(await tx.runs.get(spawn.runId), `child ${childKey} has no run`);
    const turn = await tx.runs.get(announceRunIdOf(spawn.runId));
    if (turn === undefined && task.state === 'ok' && spawn.announceMode === 'post') {
      return queueAnnounceTurn(tx, context, { spawn, task });
    }
    // The end of the announce turn adds this job again.
    if (turn !== undefined && !isOutcome(turn.state)) return;
    await settle(tx, context, { spawn, task, turn });
  });
}

async function queueAnnounceTurn(
  tx: WriteTx,
  context: RunContext,
  { spawn, task }: { spawn: SpawnRow; task: RunRow },
): Promise<void> {
  await acceptRun(tx, {
    runId: announceRunIdOf(spawn.runId),
    sessionKey: spawn.childKey,
    kind: 'prompt',
    text: SPAWN_ANNOUNCE_TEXT,
    provenance: provenanceOf(task, spawn.requesterKey),
    purpose: 'spawn_announce',
    runClass: 'subagent',
    rootRunId: task.rootRunId,
    hops: task.hops,
    spawnKey: spawn.childKey,
    timeoutMs: context.config().agents.defaults.timeoutSeconds * 1000,
  });
}

interface Settled {
  spawn: SpawnRow;
  task: RunRow;
  turn: RunRow | undefined;
}

/** The text for the chat and the note for the requester's transcript are one step. */
async function settle(tx: WriteTx, context: RunContext, settled: Settled): Promise<void> {
  const { spawn, task, turn } = settled;
  const isStopped = task.state === 'aborted' || turn?.state === 'aborted';
  const announced = await announceReplyOf(tx, settled);
  if (!announced.isSkipped) {
    const text = await textFor(tx, context, { ...settled, announceReply: announced.text });
    const requester = await tx.sessions.get(spawn.requesterKey);
    if (requester !== undefined) {
      await putOutgoing(tx, context, {
        session: requester,
        route:
          spawn.routeJson === null
            ? routeOf(requester)
            : storedRoute(context, {
                routeJson: spawn.routeJson,
                column: 'spawns.route_json',
                id: spawn.childKey,
              }),
        runId: task.runId,
        text,
        key: `announce:${spawn.childKey}:${task.runId}`,
        ...(isStopped ? { suppressedBy: 'stopped' } : {}),
      });
      await acceptNote(tx, {
        inputId: `${task.runId}:result`,
        kind: 'announce',
        sessionKey: requester.key,
        text,
        provenance: provenanceOf(task, spawn.childKey),
        rootRunId: task.rootRunId,
      });
    }
  }
  await tx.spawns.update(spawn.childKey, { state: 'settled', settledAt: tx.now });
  await startArchiveClock(tx, spawn);
}

async function announceReplyOf(
  tx: WriteTx,
  { turn }: Settled,
): Promise<{ isSkipped: boolean; text: string | undefined }> {
  if (turn?.state !== 'ok' || turn.sessionId === null) return { isSkipped: false, text: undefined };
  const entries = await tx.entries.ofRun(turn.sessionId, turn.runId);
  const raw = newestTextOf(entries, 'assistant') ?? '';
  return { isSkipped: raw.trim() !== '' && visibleText(raw).silent, text: raw };
}

async function textFor(
  tx: WriteTx,
  context: RunContext,
  { spawn, task, announceReply }: Settled & { announceReply: string | undefined },
): Promise<string> {
  const child = must(await tx.sessions.get(spawn.childKey), `child ${spawn.childKey} has no row`);
  const outcome = must(isOutcome(task.state) ? task.state : undefined, `run ${task.runId} goes on`);
  const total = task.inputTokens + task.outputTokens + task.cacheReadTokens + task.cacheWriteTokens;
  return announceText({
    status: STATUS[outcome],
    announceReply,
    finalReply: task.reply ?? '',
    newestToolResult: await newestToolResultOf(tx, task),
    notes: task.error === null ? [] : [task.error],
    stats: {
      runtimeMs: task.startedAt === null ? undefined : (task.endedAt ?? tx.now) - task.startedAt,
      tokens: task.usageKnown
        ? { input: total - task.outputTokens, output: task.outputTokens, total }
        : undefined,
      costUsd: task.costUsd ?? undefined,
      sessionKey: child.key,
      sessionId: child.sessionId,
      transcriptPath: transcriptPathOf(context.stateDir, child),
    },
  });
}

async function newestToolResultOf(tx: WriteTx, task: RunRow): Promise<string | undefined> {
  if (task.sessionId === null) return undefined;
  const entries = await tx.entries.ofRun(task.sessionId, task.runId);
  return newestTextOf(entries, 'toolResult');
}

/** Returns the text of the newest message of this role that can be read. */
function newestTextOf(
  entries: readonly EntryRow[],
  role: 'assistant' | 'toolResult',
): string | undefined {
  for (const entry of entries.toReversed()) {
    const message = entry.role === role ? parseStoredMessage(entry.json) : undefined;
    if (message !== undefined) return textOf(message);
  }
  return undefined;
}

function provenanceOf(task: RunRow, sourceSessionKey: string): Provenance {
  return {
    kind: 'inter_session',
    sourceSessionKey,
    sourceTool: 'sessions_spawn',
    rootRunId: task.rootRunId,
    hops: task.hops,
  };
}
