import { parseKey } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsListArgs } from '../../protocol/tools/session-tool-args.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';

/** What a list narrows by, beside who asks. */
export type SessionFilters = Pick<
  SessionsListArgs,
  'kinds' | 'agentId' | 'label' | 'search' | 'state'
> & {
  /** canonical key of the parent */
  spawnedBy?: string | undefined;
};

/** Returns whether a row is one that lists show at all: `unknown` never, `global` only where it is the main session (A4). */
export function isListed(row: SessionRow, config: Config): boolean {
  if (row.key === 'unknown') return false;
  const isGlobalScope = config.session.scope === 'global';
  if (row.key === 'global') return isGlobalScope;
  // under `global` these keys lead to the one shared row, so the old rows cannot be reached
  return !isGlobalScope || parseKey(row.key, config.session).form !== 'main';
}

/** Returns the rows that fit every filter, in order. Lanes are read only for `state`. */
export async function filterSessions(
  tx: ReadTx,
  { rows, filters }: { rows: SessionRow[]; filters: SessionFilters },
): Promise<SessionRow[]> {
  const fitting = rows.filter((row) => fits(row, filters));
  if (filters.state === undefined || fitting.length === 0) return fitting;
  const states = await tx.lanes.states(fitting.map((row) => row.key));
  return fitting.filter((row) => (states.get(row.key) ?? 'idle') === filters.state);
}

function fits(row: SessionRow, filters: SessionFilters): boolean {
  const { kinds, agentId, label, search, spawnedBy } = filters;
  if (kinds !== undefined && kinds.length > 0 && !kinds.includes(row.kind)) return false;
  if (agentId !== undefined && row.agentId !== agentId.toLowerCase()) return false;
  if (label !== undefined && row.label !== label) return false;
  if (spawnedBy !== undefined && row.spawnedBy !== spawnedBy) return false;
  if (search === undefined) return true;
  const wanted = search.toLowerCase();
  const texts = [row.key, row.label, row.displayName];
  return texts.some((text) => text?.toLowerCase().includes(wanted) === true);
}
