/** `sessions_list` (A7). */
import { agentToAgentAdmits, closureOf, decideAccess } from '../../core/access.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { encodeSessionCursor, parseSessionCursor } from '../../core/session-cursor.ts';
import type { Config } from '../../protocol/options/config.ts';
import type {
  SessionRowView,
  SessionsListAnswer,
  SessionsListArgs,
} from '../../protocol/tools/session-tools.ts';
import type { SessionRow } from '../../store/rows.ts';
import type { ReadTx, SessionCursor, SessionScope } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { reachOf } from './key-settings.ts';
import { READ_MAX_BYTES, readMessages, viewTogether } from './read-messages.ts';
import { resolveTarget } from './resolve-target.ts';
import { scanSessions } from './scan-sessions.ts';
import type { SessionScan } from './scan-sessions.ts';
import { filterSessions, isListed } from './session-filters.ts';
import type { SessionFilters } from './session-filters.ts';
import { createRowViewer, toRowView } from './session-row-view.ts';
import type { RowViewer } from './session-row-view.ts';
import { type OnUnreadable, unreadableReporter } from '../unreadable-rows.ts';

export const DEFAULT_LIST_LIMIT = 100;

/** What lists need. */
export type ListContext = Pick<
  ServiceContext,
  'store' | 'config' | 'clock' | 'logger' | 'stateDir' | 'cursorSecret'
>;

/** Returns one page of the sessions that the caller may see, newest first. Nothing tells of hidden ones. */
export function listSessions(
  context: ListContext,
  caller: SessionCaller,
  args: SessionsListArgs,
): Promise<SessionsListAnswer> {
  const config = context.config();
  return context.store.read(async (tx) => {
    const start = parseStart(args.cursor, context.cursorSecret);
    if (!start.ok) return { status: 'error', error: start.error };
    const walk = await planWalk(tx, { config, caller, args });
    if (!walk.ok) return { status: walk.status, error: walk.error };
    const limit = args.limit ?? DEFAULT_LIST_LIMIT;
    const page = await scanSessions(tx, {
      ...walk,
      archived: args.archived === true,
      cursor: start.cursor,
      updatedSince: updatedSince(context, args.activeMinutes),
      limit,
      keep: (rows) => keepVisible(tx, { rows, config, caller, walk, filters: walk.filters }),
    });
    const { stateDir } = context;
    const viewer = createRowViewer({ config, stateDir, agentId: caller.agentId });
    const { level } = reachOf(config);
    return {
      ...(await toRowViews(tx, {
        rows: page.rows,
        viewer,
        messageLimit: args.messageLimit,
        onUnreadable: unreadableReporter(context),
      })),
      count: page.rows.length,
      limitApplied: limit,
      ...(args.messageLimit !== undefined && { messageLimitApplied: args.messageLimit }),
      ...nextPage(page.next, context.cursorSecret),
      visibility: { mode: level, restricted: level !== 'all' },
    };
  });
}

/** Returns the position that a page starts at. */
export function parseStart(
  cursor: string | undefined,
  secret: string,
): { ok: true; cursor: SessionCursor | undefined } | { ok: false; error: string } {
  if (cursor === undefined) return { ok: true, cursor: undefined };
  const parsed = parseSessionCursor(cursor, secret);
  return parsed.ok ? { ok: true, cursor: parsed.position } : parsed;
}

/** Returns what a page says about the next one. */
export function nextPage(
  next: SessionCursor | undefined,
  secret: string,
): { hasMore: boolean; nextCursor?: string } {
  if (next === undefined) return { hasMore: false };
  return { hasMore: true, nextCursor: encodeSessionCursor(next, secret) };
}

/** Returns the time before which a row is too old; epoch ms. */
export function updatedSince(
  { clock }: Pick<ServiceContext, 'clock'>,
  activeMinutes: number | undefined,
): number {
  return activeMinutes === undefined
    ? Number.NEGATIVE_INFINITY
    : clock.now() - activeMinutes * 60_000;
}

interface Walk extends Pick<SessionScan, 'scopes' | 'keys'> {
  ok: true;
  filters: SessionFilters;
  /** every row is the caller's own or a descendant that its level shows */
  isOwnTree: boolean;
}
type WalkPlan = Walk | { ok: false; status: 'error' | 'forbidden'; error: string };

async function planWalk(
  tx: ReadTx,
  query: { config: Config; caller: SessionCaller; args: SessionsListArgs },
): Promise<WalkPlan> {
  const { config, caller, args } = query;
  const { spawnedBy: parentName, ...filters } = args;
  if (parentName === undefined) {
    return { ok: true, filters, ...visibleWalk(query) };
  }
  const address = { sessionKey: parentName };
  const parent = await resolveTarget(tx, { config, caller, address, verb: 'list' });
  if (!parent.ok) return parent;
  const { level } = reachOf(config);
  return {
    ok: true,
    filters: { ...filters, spawnedBy: parent.key },
    scopes: [{ type: 'below', ancestorKey: parent.key }],
    keys: [],
    // `self` and `agent` do not show every child
    isOwnTree: parent.isSelf && (level === 'tree' || level === 'all'),
  };
}

/** Walks as few indexes as hold what the caller's level shows; access is still decided row by row. */
function visibleWalk(query: {
  config: Config;
  caller: SessionCaller;
  args: SessionsListArgs;
}): Pick<Walk, 'scopes' | 'keys' | 'isOwnTree'> {
  const { config, caller, args } = query;
  const { level, agentToAgent } = reachOf(config);
  const own = caller.sessionKey;
  const belowOwn: SessionScope = { type: 'below', ancestorKey: own };
  const ownAgent: SessionScope = { type: 'agent', agentId: caller.agentId };
  const wanted = args.agentId?.toLowerCase();
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

async function keepVisible(
  tx: ReadTx,
  query: {
    rows: SessionRow[];
    config: Config;
    caller: SessionCaller;
    walk: Pick<Walk, 'isOwnTree'>;
    filters: SessionFilters;
  },
): Promise<SessionRow[]> {
  const { config, filters } = query;
  const listed = query.rows.filter((row) => isListed(row, config));
  const fitting = await filterSessions(tx, { rows: listed, filters });
  if (query.walk.isOwnTree) return fitting;
  const visible: SessionRow[] = [];
  for (const row of fitting) if (await isVisible(tx, row, query)) visible.push(row);
  return visible;
}

async function isVisible(
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

/** Returns rows as shown, with the newest messages of each when asked for; without that no transcript is read. */
export async function toRowViews(
  tx: ReadTx,
  query: {
    rows: SessionRow[];
    viewer: RowViewer;
    messageLimit: number | undefined;
    onUnreadable: OnUnreadable;
  },
): Promise<{ sessions: SessionRowView[]; messagesTruncated?: true }> {
  const { rows, viewer, messageLimit = 0, onUnreadable } = query;
  const states = await tx.lanes.states(rows.map((row) => row.key));
  const sessions = rows.map((row) =>
    toRowView(row, { viewer, state: states.get(row.key) ?? 'idle' }),
  );
  if (messageLimit === 0) return { sessions };
  const transcripts = [];
  let leftBytes = READ_MAX_BYTES;
  let isCut = false;
  for (const { sessionId } of rows) {
    const tail = { sessionId, includeTools: false, beforeSeq: undefined, limit: messageLimit };
    const found = await readMessages(tx, { ...tail, maxBytes: leftBytes, onUnreadable });
    leftBytes -= found.bytes;
    isCut ||= found.leftOut > 0;
    transcripts.push(found.placed.map(({ message }) => message));
  }
  const views = viewTogether(transcripts, viewer.config.tools.sessions_history.maxBytes);
  return {
    sessions: sessions.map((row, index) => ({ ...row, messages: views[index]?.messages ?? [] })),
    ...((isCut || views.some((view) => view.truncated)) && { messagesTruncated: true as const }),
  };
}
