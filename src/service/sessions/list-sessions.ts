/** `sessions_list` (A7). */
import type { SessionCaller } from '../../core/caller.ts';
import { faultOf, type Refusal, toldOf } from '../../core/refusals.ts';
import type { Config } from '../../protocol/options/config.ts';
import type {
  SessionRowView,
  SessionsListAnswer,
} from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsListArgs } from '../../protocol/tools/session-tool-args.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { SessionCursor } from '../../store/session-repository.ts';
import type { ServiceContext } from '../context.ts';
import { pageCursor, parsePageCursor } from '../page-cursor.ts';
import { reachOf } from './key-settings.ts';
import { masksFor } from './read-history.ts';
import { READ_MAX_BYTES, readMessages, viewTogether } from './read-messages.ts';
import type { ShownTranscript } from './read-messages.ts';
import { resolveTarget } from './resolve-target.ts';
import { scanSessions } from './scan-sessions.ts';
import { filterSessions, isListed } from './session-filters.ts';
import type { SessionFilters } from './session-filters.ts';
import { createRowViewer, toRowView } from './session-row-view.ts';
import type { RowViewer } from './session-row-view.ts';
import { type OnUnreadable, unreadableReporter } from '../unreadable-rows.ts';
import { isVisible, visibleWalk } from './visible-sessions.ts';
import type { VisibleWalk } from './visible-sessions.ts';

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
    const start = parseStart(context, args.cursor);
    if (!start.ok) return faultOf('cursor', start.error);
    const walk = await planWalk(tx, { config, caller, args });
    if (!walk.ok) return toldOf(walk);
    const limit = args.limit ?? DEFAULT_LIST_LIMIT;
    const page = await scanSessions(tx, {
      ...walk,
      archived: args.archived === true,
      cursor: start.position,
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
        isMasked: (key) => masksFor(config, { readerKey: caller.sessionKey, key }),
        onUnreadable: unreadableReporter(context),
      })),
      count: page.rows.length,
      limitApplied: limit,
      ...(args.messageLimit !== undefined && { messageLimitApplied: args.messageLimit }),
      ...nextPage(context, page.next),
      visibility: { mode: level, restricted: level !== 'all' },
    };
  });
}

const FORM = 'session';
type Sealing = Pick<ServiceContext, 'cursorSecret'>;

/** Returns the position that a page starts at, or what to do when the cursor is none of a list of sessions. */
export function parseStart(
  sealing: Sealing,
  cursor: string | undefined,
): ReturnType<typeof parsePageCursor> {
  return parsePageCursor(sealing, { form: FORM, cursor });
}

/** Returns what a page says about the next one. */
export function nextPage(
  sealing: Sealing,
  next: SessionCursor | undefined,
): { hasMore: boolean; nextCursor?: string } {
  if (next === undefined) return { hasMore: false };
  return { hasMore: true, nextCursor: pageCursor(sealing, FORM, next) };
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

interface Walk extends VisibleWalk {
  ok: true;
  filters: SessionFilters;
}
type WalkPlan = Walk | ({ ok: false } & Refusal);

async function planWalk(
  tx: ReadTx,
  query: { config: Config; caller: SessionCaller; args: SessionsListArgs },
): Promise<WalkPlan> {
  const { config, caller, args } = query;
  const { spawnedBy: parentName, ...filters } = args;
  if (parentName === undefined) {
    return { ok: true, filters, ...visibleWalk({ config, caller, agentId: args.agentId }) };
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

/** Returns rows as shown, with the newest messages of each when asked for; without that no transcript is read. */
export async function toRowViews(
  tx: ReadTx,
  query: {
    rows: SessionRow[];
    viewer: RowViewer;
    messageLimit: number | undefined;
    /** whether the reader is not shown the credentials in this session */
    isMasked: (key: string) => boolean;
    onUnreadable: OnUnreadable;
  },
): Promise<{ sessions: SessionRowView[]; messagesTruncated?: true }> {
  const { rows, viewer, messageLimit = 0, onUnreadable } = query;
  const states = await tx.lanes.states(rows.map((row) => row.key));
  const sessions = rows.map((row) =>
    toRowView(row, { viewer, state: states.get(row.key) ?? 'idle' }),
  );
  if (messageLimit === 0) return { sessions };
  const transcripts: ShownTranscript[] = [];
  let leftBytes = READ_MAX_BYTES;
  let isCut = false;
  for (const { key, sessionId } of rows) {
    const tail = { sessionId, includeTools: false, beforeSeq: undefined, limit: messageLimit };
    const found = await readMessages(tx, { ...tail, maxBytes: leftBytes, onUnreadable });
    leftBytes -= found.bytes;
    isCut ||= found.leftOut > 0;
    const messages = found.placed.map(({ message }) => message);
    transcripts.push({ messages, isMasked: query.isMasked(key) });
  }
  const views = viewTogether(transcripts, viewer.config.tools.sessions_history.maxBytes);
  return {
    sessions: sessions.map((row, index) => ({ ...row, messages: views[index]?.messages ?? [] })),
    ...((isCut || views.some((view) => view.truncated)) && { messagesTruncated: true as const }),
  };
}
