/** What a child said last: in its task, or in the turn that its own children's results gave it (A18). */
import { parseStoredMessage } from '../../core/stored-message.ts';
import { textOf } from '../../protocol/message.ts';
import type { EntryRow } from '../../store/transcript-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SpawnRow } from '../../store/follow-up-repository.ts';
import type { ReadTx } from '../../store/store.ts';

/** How far back a relay turn is looked for among later runs of the child. */
const MAX_LATER_RUNS = 20;

/** Returns the child's task, or its last relay turn that said something. */
export async function lastWorkOf(
  tx: ReadTx,
  { spawn, task }: { spawn: SpawnRow; task: RunRow },
): Promise<RunRow> {
  if (task.state !== 'ok') return task;
  const newest = { sessionKey: spawn.childKey, after: undefined, limit: MAX_LATER_RUNS };
  const runs = await tx.runs.pageOfSession(newest);
  const hasSpoken = ({ purpose, state, reply }: RunRow): boolean =>
    purpose === 'spawn_relay' && state === 'ok' && reply !== null && reply !== '';
  return runs.find(hasSpoken) ?? task;
}

/** Returns the newest text that the run left in this role, as it was written. */
export async function textOfRun(
  tx: ReadTx,
  { run, role }: { run: RunRow; role: 'assistant' | 'toolResult' },
): Promise<string | undefined> {
  if (run.sessionId === null) return undefined;
  return newestTextOf(await tx.entries.ofRun(run.sessionId, run.runId), role);
}

/** The newest message of this role that can be read. */
function newestTextOf(entries: readonly EntryRow[], role: EntryRow['role']): string | undefined {
  for (const entry of entries.toReversed()) {
    const message = entry.role === role ? parseStoredMessage(entry.json) : undefined;
    if (message !== undefined) return textOf(message);
  }
  return undefined;
}
