/** Who is told how a child ended: its requester, or the next one above that is still there (B7.7). */
import { closureOf } from '../../core/access.ts';
import type { RequesterFact } from '../../core/spawn-state.ts';
import { isSubagentKey } from '../../core/keys.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { SpawnRow } from '../../store/follow-up-repository.ts';
import type { WriteTx } from '../../store/store.ts';

export interface Requester {
  kind: RequesterFact;
  /** undefined = nobody is left */
  session: SessionRow | undefined;
}

/** `isStopped`: a stop reaches the requester as well, and then it is the one to note that. */
export interface RequesterQuery {
  spawn: SpawnRow;
  child: SessionRow | undefined;
  isStopped: boolean;
}

/** Returns the nearest session above the child that can be told; lineage leads up to the root. */
export async function findRequester(
  tx: WriteTx,
  { spawn, child, isStopped }: RequesterQuery,
): Promise<Requester> {
  const seen = new Set<string>([spawn.childKey]);
  const above = [spawn.requesterKey, ...(child === undefined ? [] : [child.rootKey])];
  for (let key = above.shift(); key !== undefined; key = above.shift()) {
    if (seen.has(key)) continue;
    seen.add(key);
    const session = await tx.sessions.get(key);
    const own = await tx.spawns.get(key);
    const isDirect = key === spawn.requesterKey;
    const isOver =
      own !== undefined && !(isDirect && isStopped) && (await hasGivenUp(tx, { own, spawn }));
    const isThere = session !== undefined && closureOf(session) !== 'deleted';
    if (isThere && !isOver) return { kind: kindOf(session), session };
    const next = session?.spawnedBy ?? own?.requesterKey;
    if (next !== undefined) above.unshift(next);
  }
  return { kind: 'gone', session: undefined };
}

/**
 * A sub-agent that failed, or has been announced, passes nothing on any more. One whose later turn
 * spawned a child (an operator talks to it) is told as long as it is there.
 */
async function hasGivenUp(
  tx: WriteTx,
  { own, spawn }: { own: SpawnRow; spawn: SpawnRow },
): Promise<boolean> {
  const isDirect = own.childKey === spawn.requesterKey;
  if (isDirect && spawn.requesterRunId !== own.runId) return false;
  if (!isDirect && own.state === 'settled') return true;
  const task = await tx.runs.get(own.runId);
  return task !== undefined && isOutcome(task.state) && task.state !== 'ok';
}

function kindOf(session: SessionRow): RequesterFact {
  if (closureOf(session) === 'archived') return 'archived';
  return isSubagentKey(session.key) ? 'subagent' : 'session';
}
