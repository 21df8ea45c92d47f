/** Where a child's announce comes from, and its place in the tree of messages (A15, A11). */
import type { Provenance } from '../../protocol/message.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SpawnRow } from '../../store/follow-up-repository.ts';

export interface AnnouncedSpawn {
  spawn: SpawnRow;
  task: RunRow | undefined;
}

/** Returns the provenance of a message that the gateway makes for this spawn. */
export function provenanceOf(announced: AnnouncedSpawn, sourceSessionKey: string): Provenance {
  return {
    kind: 'inter_session',
    sourceSessionKey,
    sourceTool: 'sessions_spawn',
    ...placeOf(announced),
  };
}

/** Returns the root and the hops of the child's task. */
export function placeOf({ spawn, task }: AnnouncedSpawn): { rootRunId: string; hops: number } {
  return { rootRunId: task?.rootRunId ?? spawn.runId, hops: task?.hops ?? 1 };
}
