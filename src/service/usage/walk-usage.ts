/**
 * Walking the days of usage of a scope. The sums of a large store are no single query: each read takes a bounded
 * piece, so that nothing else waits for the whole.
 */
import type { SessionRow } from '../../store/session-repository.ts';
import type { UsageDayRow, UsagePlace, UsageScope } from '../../store/usage-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';

/** Rows of one read. */
const PIECE = 1_000;
/** Comes after every day, and fits into its column. */
const AFTER_ALL_DAYS = 2_147_483_647;

/** Whose usage is asked for, and of which days, both included. */
export interface UsageWindow {
  of:
    | { type: 'everything' }
    | { type: 'session'; key: string }
    | { type: 'tree'; session: Pick<SessionRow, 'key' | 'rootKey'> };
  fromDay: number;
  toDay: number;
}

/** Yields the rows of the window by day where the scope has such an order, else by session. */
export async function* walkUsage(
  context: ServiceContext,
  window: UsageWindow,
): AsyncGenerator<UsageDayRow> {
  const { of, fromDay } = window;
  const scope: UsageScope =
    of.type === 'everything' ? { type: 'everything', order: 'day' } : scopeOf(of);
  const start = { sessionKey: '', day: of.type === 'tree' ? -1 : fromDay, model: '' };
  for await (const { row, isCounted } of walk(context, { window, scope, start })) {
    if (isCounted) yield row;
    else if (scope.type === 'everything' && row.day > window.toDay) return;
  }
}

/** Yields the rows by session, also those out of the window, each with whether it counts. */
export function walkSessions(
  context: ServiceContext,
  { window, afterKey }: { window: UsageWindow; afterKey: string | undefined },
): AsyncGenerator<{ row: UsageDayRow; isCounted: boolean }> {
  const { of } = window;
  const scope: UsageScope =
    of.type === 'everything' ? { type: 'everything', order: 'session' } : scopeOf(of);
  const start = { sessionKey: afterKey ?? '', day: afterKey === undefined ? -1 : AFTER_ALL_DAYS };
  return walk(context, { window, scope, start: { ...start, model: '' } });
}

function scopeOf(of: Exclude<UsageWindow['of'], { type: 'everything' }>): UsageScope {
  return of.type === 'session'
    ? { type: 'session', sessionKey: of.key }
    : { type: 'root', rootKey: of.session.rootKey };
}

async function* walk(
  { store }: ServiceContext,
  { window, scope, start }: { window: UsageWindow; scope: UsageScope; start: UsagePlace },
): AsyncGenerator<{ row: UsageDayRow; isCounted: boolean }> {
  for (let after = start; ;) {
    const piece = await store.read(async (tx) => {
      const rows = await tx.usage.page({ scope, after, limit: PIECE });
      const isInside = await membersOf(tx, window, rows);
      return rows.map((row) => ({ row, isCounted: isInside(row) && isInDays(window, row) }));
    });
    yield* piece;
    const last = piece.at(-1);
    if (last === undefined || piece.length < PIECE) return;
    after = last.row;
  }
}

function isInDays({ fromDay, toDay }: UsageWindow, { day }: UsageDayRow): boolean {
  return day >= fromDay && day <= toDay;
}

/** The tree of a session that was spawned itself is a part of the tree of its root. */
async function membersOf(
  tx: ReadTx,
  { of }: UsageWindow,
  rows: readonly UsageDayRow[],
): Promise<(row: UsageDayRow) => boolean> {
  if (of.type !== 'tree' || of.session.key === of.session.rootKey) return () => true;
  const inside = new Set([of.session.key]);
  for (const key of new Set(rows.map(({ sessionKey }) => sessionKey))) {
    if (await tx.sessions.isDescendant(of.session.key, key)) inside.add(key);
  }
  return ({ sessionKey }) => inside.has(sessionKey);
}
