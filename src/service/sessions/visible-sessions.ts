/** Which sessions a caller sees, as the indexes of the store can walk them (A5, A7). */
import { agentToAgentAdmits, closureOf, decideAccess } from '../../core/access.ts';
import type { SessionCaller } from '../../core/caller.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { SessionScope } from '../../store/session-repository.ts';
import { reachOf } from './key-settings.ts';

export interface VisibleWalk {
  /** what to walk, each from one index */
  scopes: readonly SessionScope[];
  /** single sessions that belong to the walk whatever the scopes say */
  keys: readonly string[];
  /** every row is the caller's own or a descendant that its level shows */
  isOwnTree: boolean;
}

/** Returns as few indexes as hold what the caller's level shows; access is still decided row by row. */
export function visibleWalk(query: {
  config: Config;
  caller: SessionCaller;
  /** narrows to the sessions of one agent */
  agentId?: string | undefined;
}): VisibleWalk {
  const { config, caller, agentId } = query;
  const { level, agentToAgent } = reachOf(config);
  const own = caller.sessionKey;
  const belowOwn: SessionScope = { type: 'below', ancestorKey: own };
  const ownAgent: SessionScope = { type: 'agent', agentId: caller.agentId };
  const wanted = agentId?.toLowerCase();
  if (level === 'self') return { scopes: [], keys: [own], isOwnTree: true };
  if (level === 'tree') return { scopes: [belowOwn], keys: [own], isOwnTree: true };
  // the shared row belongs to the default agent and is the main session of every agent (A4)
  const keys = [...new Set([own, 'global'])];
  const wide = { keys, isOwnTree: false };
  if (level === 'agent' || wanted === caller.agentId) return { ...wide, scopes: [ownAgent] };
  if (wanted !== undefined) {
    const isOpen = agentToAgentAdmits(agentToAgent, caller.agentId, wanted);
    return { ...wide, scopes: isOpen ? [{ type: 'agent', agentId: wanted }] : [belowOwn] };
  }
  return {
    ...wide,
    scopes: agentToAgent.enabled ? [{ type: 'everything' }] : [ownAgent, belowOwn],
  };
}

/** Returns whether the caller may see a session. */
export async function isVisible(
  tx: ReadTx,
  row: SessionRow,
  { config, caller }: { config: Config; caller: SessionCaller },
): Promise<boolean> {
  const allows = (isDescendant: boolean): boolean =>
    decideAccess({
      caller: { key: caller.sessionKey, agentId: caller.agentId },
      target: { key: row.key, agentId: row.agentId, isDescendant, closure: closureOf(row) },
      verb: 'list',
      ...reachOf(config),
    }).allowed;
  if (allows(false)) return true;
  // the look-up is worth it only where it can change the answer
  if (row.spawnedBy === null || !allows(true)) return false;
  return tx.sessions.isDescendant(caller.sessionKey, row.key);
}
