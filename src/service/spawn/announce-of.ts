/** The announce of a child as text: what the runtime knows of its run, and what the child said (B7.7, A18). */
import { announceText } from '../../core/announce-text.ts';
import { parseKey } from '../../core/keys.ts';
import { maskSecrets } from '../../core/mask-secrets.ts';
import { withoutQuotes } from '../../core/quote-guard.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { AnnounceStatus, RunOutcome } from '../../protocol/words.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { SpawnRow } from '../../store/follow-up-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { RunContext } from '../context.ts';
import { transcriptPathOf } from '../sessions/session-row-view.ts';
import { wordsOfAnother } from '../sessions/words-of-another.ts';
import { lastWorkOf, textOfRun } from './last-work.ts';

const STATUS: Record<RunOutcome, AnnounceStatus> = {
  ok: 'success',
  error: 'error',
  timeout: 'timeout',
  aborted: 'error',
};
const LOST_RUN_NOTE = 'The run is not in the store any more; how it ended is unknown.';

/** A child that has ended, and all that is left of it. */
export interface EndedChild {
  spawn: SpawnRow;
  /** undefined = its session is gone */
  child: SessionRow | undefined;
  /** undefined = its run is gone */
  task: RunRow | undefined;
  announceTurn: RunRow | undefined;
}

/** Returns the announce of the child as it stands; asked again it is the same. */
export async function announceOf(
  tx: WriteTx,
  context: RunContext,
  ended: EndedChild,
): Promise<string> {
  const { task, announceTurn } = ended;
  if (task === undefined) {
    const notes = [LOST_RUN_NOTE];
    return announceText({
      status: 'unknown',
      finalReply: '',
      notes,
      stats: statsOf(context, ended),
    });
  }
  const told = (text: string): string => wordsOfAnother(context.config(), text);
  const finalReply = told((await lastWorkOf(tx, { spawn: ended.spawn, task })).reply ?? '');
  const hasSpoken = announceTurn?.state === 'ok';
  return announceText({
    status: STATUS[must(isOutcome(task.state) ? task.state : undefined, `${task.runId} goes on`)],
    announceReply: hasSpoken
      ? told((await textOfRun(tx, { run: announceTurn, role: 'assistant' })) ?? '')
      : undefined,
    finalReply,
    newestToolResult:
      finalReply.trim() === ''
        ? told((await textOfRun(tx, { run: task, role: 'toolResult' })) ?? '')
        : undefined,
    notes: notesOf(ended),
    stats: statsOf(context, ended),
  });
}

/** Why it failed, or who stopped it; never what it was asked. */
function notesOf({ spawn, task, announceTurn }: EndedChild): string[] {
  const failed = announceTurn?.state === 'aborted' ? announceTurn : task;
  return failed?.error ? [maskSecrets(withoutQuotes(failed.error, spawn.task))] : [];
}

function statsOf(context: RunContext, { spawn, child, task }: EndedChild): StatsOfChild {
  const session = {
    agentId: child?.agentId ?? parseKey(spawn.childKey).agentId ?? 'main',
    sessionId: child?.sessionId ?? task?.sessionId ?? undefined,
  };
  const { sessionId } = session;
  return {
    ...usageOf(task),
    sessionKey: spawn.childKey,
    sessionId: sessionId ?? 'n/a',
    transcriptPath:
      sessionId === undefined
        ? undefined
        : transcriptPathOf(context.stateDir, { ...session, sessionId }),
  };
}

type StatsOfChild = Parameters<typeof announceText>[0]['stats'];

function usageOf(task: RunRow | undefined): Pick<StatsOfChild, 'runtimeMs' | 'tokens' | 'costUsd'> {
  if (task === undefined) return { runtimeMs: undefined, tokens: undefined, costUsd: undefined };
  const { startedAt, endedAt, outputTokens: output } = task;
  const input = task.inputTokens + task.cacheReadTokens + task.cacheWriteTokens;
  return {
    runtimeMs: startedAt === null || endedAt === null ? undefined : endedAt - startedAt,
    tokens: task.usageKnown ? { input, output, total: input + output } : undefined,
    costUsd: task.costUsd ?? undefined,
  };
}
