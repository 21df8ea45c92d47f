import { GatewayError } from '../../protocol/errors.ts';
import { dayOf, formatDay, parseDay } from '../../util/utc-day.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import type { UsageQuery } from './usage-query.ts';
import type { UsageAnswer } from '../../protocol/answers/usage-answers.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import type { UsageWindow } from './walk-usage.ts';

/** Days of everything that are summed up when nobody says which. */
const DEFAULT_DAYS = 30;

/** Returns whose usage and which days are meant. */
export async function windowOf(context: ServiceContext, query: UsageQuery): Promise<UsageWindow> {
  const of = await scopeOf(context, query);
  const today = dayOf(context.clock.now());
  const isEverything = of.type === 'everything';
  const toDay = query.until === undefined ? today : mustBeDay('until', query.until);
  const earliest = isEverything ? toDay - DEFAULT_DAYS + 1 : 0;
  const fromDay = query.since === undefined ? earliest : mustBeDay('since', query.since);
  if (fromDay <= toDay) return { of, fromDay, toDay };
  throw new GatewayError(
    'invalid_request',
    `usage: since: ${formatDay(fromDay)} is after until, ${formatDay(toDay)}`,
  );
}

function scopeOf(context: ServiceContext, query: UsageQuery): Promise<UsageWindow['of']> {
  return context.store.read(async (tx) => {
    if (query.sessionKey === undefined) return { type: 'everything' };
    const { key, session } = await whoseOf(tx, context, query.sessionKey);
    return query.tree === true && session !== undefined
      ? { type: 'tree', session }
      : { type: 'session', key };
  });
}

/** A session that was purged is known by what it spent, under its key as lists of usage show it. */
async function whoseOf(
  tx: ReadTx,
  context: ServiceContext,
  key: string,
): Promise<{ key: string; session: Pick<SessionRow, 'key' | 'rootKey'> | undefined }> {
  try {
    return await lookUpForOperator(tx, context.config(), key);
  } catch (error) {
    const scope = { type: 'session', sessionKey: key } as const;
    const after = { sessionKey: key, day: -1, model: '' };
    const [row] = await tx.usage.page({ scope, after, limit: 1 });
    if (row === undefined) throw error;
    return { key, session: { key, rootKey: row.rootKey } };
  }
}

function mustBeDay(name: string, text: string): number {
  const day = parseDay(text);
  if (day !== undefined) return day;
  throw new GatewayError('invalid_request', `usage: ${name}: no such day; use YYYY-MM-DD (UTC)`);
}

/** Returns what an answer is about; the days in effect are said. */
export function wordsOf(
  query: UsageQuery,
  { of, fromDay, toDay }: UsageWindow,
): Pick<UsageAnswer, 'sessionKey' | 'tree' | 'since' | 'until'> {
  const key = of.type === 'session' ? of.key : of.type === 'tree' ? of.session.key : undefined;
  return {
    ...(key === undefined ? {} : { sessionKey: key }),
    ...(query.tree === true ? { tree: true } : {}),
    ...(of.type === 'everything' || query.since !== undefined ? { since: formatDay(fromDay) } : {}),
    until: formatDay(toDay),
  };
}
