/** `usage`: tokens and cost of a run, a session, a tree or everything, for the operator. */
import { addUsage, noUsage, usageOfCall } from '../../core/usage-sum.ts';
import type { UsageDayRow } from '../../store/usage-repository.ts';
import type { ServiceContext } from '../context.ts';
import { readBudgets } from '../budgets/read-budgets.ts';
import { openPageCursor, pageCursor } from '../page-cursor.ts';
import { findRun } from '../runs/find-run.ts';
import { unknownRun } from '../runs/wait-for-run.ts';
import type { UsageQuery } from './usage-query.ts';
import type { UsageAnswer, UsageBy, UsageGroup } from '../../protocol/answers/usage-answers.ts';
import { formatDay } from '../../util/utc-day.ts';
import { UsageSums } from './usage-groups.ts';
import { toTotals, usageOfPurged } from './usage-sums.ts';
import { windowOf, wordsOf } from './usage-window.ts';
import { type UsageWindow, walkSessions, walkUsage } from './walk-usage.ts';

const DEFAULT_LIMIT = 50;
const LIMIT_MAX = 200;
/** Most rows of other days that a page by session looks at; then it ends early and has a cursor. */
const MAX_EXAMINED = 5_000;

/** Returns what was used. Unknown names reject `not_found`, days that are none `invalid_request`. */
export async function readUsage(context: ServiceContext, query: UsageQuery): Promise<UsageAnswer> {
  if (query.runId !== undefined) return usageOfRun(context, query.runId);
  const window = await windowOf(context, query);
  const budgets = await budgetsOf(context, window);
  return { ...(await sumsOf(context, { query, window })), ...budgets };
}

async function budgetsOf(
  context: ServiceContext,
  { of }: UsageWindow,
): Promise<Pick<UsageAnswer, 'budgets'>> {
  if (of.type === 'everything') return {};
  const key = of.type === 'tree' ? of.session.key : of.key;
  const budgets = await context.store.read(async (tx) => {
    // what was used may outlive its session
    const session = await tx.sessions.get(key);
    return session === undefined ? [] : readBudgets(tx, context.config(), session);
  });
  return budgets.length === 0 ? {} : { budgets };
}

async function sumsOf(
  context: ServiceContext,
  { query, window }: { query: UsageQuery; window: UsageWindow },
): Promise<UsageAnswer> {
  const { by } = query;
  if (by === undefined) return { ...wordsOf(query, window), total: await totalOf(context, window) };
  const page =
    by === 'session'
      ? await pageBySession(context, { query, window })
      : await pageByName(context, { query, window, by });
  return { ...wordsOf(query, window), by, ...page };
}

/** A run counts each call once: messages that joined the turn of another run are counted there. */
async function usageOfRun({ store }: ServiceContext, runId: string): Promise<UsageAnswer> {
  const { run, calls } = await store.read(async (tx) => ({
    run: await findRun(tx, runId),
    calls: await tx.usage.callsOf(runId),
  }));
  if (run === undefined) throw unknownRun(runId);
  const sums = new UsageSums();
  for (const call of calls) sums.add(call.model, usageOfCall(call));
  if (run.purgedAt !== null && run.usageKnown) sums.add(run.model ?? 'unknown', usageOfPurged(run));
  const groups = sums.groups();
  return {
    runId,
    sessionKey: run.sessionKey,
    ...(run.mergedInto === null ? {} : { mergedInto: run.mergedInto }),
    by: 'model',
    groups,
    count: groups.length,
    hasMore: false,
    total: toTotals(sums.total),
  };
}

async function totalOf(context: ServiceContext, window: UsageWindow) {
  const total = noUsage();
  for await (const row of walkUsage(context, window)) addUsage(total, row);
  return toTotals(total);
}

const NAME_OF: Record<Exclude<UsageBy, 'session'>, (row: UsageDayRow) => string> = {
  agent: (row) => row.agentId,
  model: (row) => row.model,
  day: (row) => formatDay(row.day),
};

/** There are few agents, models and days: all of them are summed, and a page is cut from these. */
async function pageByName(
  context: ServiceContext,
  given: { query: UsageQuery; window: UsageWindow; by: Exclude<UsageBy, 'session'> },
) {
  const { query, window, by } = given;
  const sums = new UsageSums();
  for await (const row of walkUsage(context, window)) sums.add(NAME_OF[by](row), row);
  const limit = limitOf(query);
  const after = afterOf(context, { query, by });
  const rest = sums.groups().filter(({ key }) => after === undefined || key > after);
  const groups = rest.slice(0, limit);
  const last = rest.length > limit ? groups.at(-1) : undefined;
  return {
    ...pageOf(context, { groups, limit, by, last: last?.key }),
    total: toTotals(sums.total),
  };
}

/** One session after another, until the page is full; the total is known only when that is all of it. */
async function pageBySession(
  context: ServiceContext,
  { query, window }: { query: UsageQuery; window: UsageWindow },
) {
  const limit = limitOf(query);
  const after = afterOf(context, { query, by: 'session' });
  const sums = new UsageSums();
  let examined = 0;
  let current = after;
  for await (const { row, isCounted } of walkSessions(context, { window, afterKey: after })) {
    const isNext = row.sessionKey !== current;
    if (isNext && (sums.count >= limit || examined >= MAX_EXAMINED)) {
      const groups = sums.groups();
      return pageOf(context, { groups, limit, by: 'session', last: current });
    }
    current = row.sessionKey;
    if (isCounted) sums.add(row.sessionKey, row);
    else examined += 1;
  }
  const page = pageOf(context, { groups: sums.groups(), limit, by: 'session', last: undefined });
  return after === undefined ? { ...page, total: toTotals(sums.total) } : page;
}

function limitOf({ limit }: UsageQuery): number {
  return Math.min(limit ?? DEFAULT_LIMIT, LIMIT_MAX);
}

function pageOf(
  context: ServiceContext,
  page: { groups: UsageGroup[]; limit: number; by: UsageBy; last: string | undefined },
) {
  const { groups, limit, by, last } = page;
  return {
    groups,
    count: groups.length,
    limitApplied: limit,
    hasMore: last !== undefined,
    ...(last === undefined
      ? {}
      : { nextCursor: pageCursor(context, formOf(by), { updatedAt: 0, key: last }) }),
  };
}

function afterOf(
  context: ServiceContext,
  { query: { cursor }, by }: { query: UsageQuery; by: UsageBy },
): string | undefined {
  return openPageCursor(context, { method: 'usage', form: formOf(by), cursor })?.key;
}

function formOf(by: UsageBy): string {
  return `usage by ${by}`;
}
