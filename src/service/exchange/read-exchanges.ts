/** `exchanges.get` and `exchanges.list`: what agents said to each other, for the operator (A10). */
import { GatewayError } from '../../protocol/errors.ts';
import type { ExchangeRow } from '../../store/follow-up-repository.ts';
import type { ExchangeCursor } from '../../store/follow-up-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { openPageCursor, pageCursor } from '../page-cursor.ts';
import type { ExchangeQuery, ExchangesQuery } from './exchange-answers.ts';
import type { ExchangesPage, ExchangeView } from '../../protocol/answers/exchange-answers.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import { toSummary, toView } from './exchange-view.ts';
import { briefly } from '../../util/briefly.ts';

const DEFAULT_LIMIT = 50;
const LIMIT_MAX = 200;

/** Returns one exchange, by its id or by that of any of its runs. Rejects `not_found` when there is none. */
export function getExchange(
  { store }: Pick<ServiceContext, 'store'>,
  query: ExchangeQuery,
): Promise<ExchangeView> {
  return store.read(async (tx) => toView(tx, await findExchange(tx, query)));
}

async function findExchange(
  tx: ReadTx,
  { exchangeId, runId }: ExchangeQuery,
): Promise<ExchangeRow> {
  if (exchangeId !== undefined) {
    const exchange = await tx.exchanges.get(exchangeId);
    if (exchange !== undefined) return exchange;
    throw new GatewayError('not_found', `no exchange ${briefly(exchangeId)}; see exchanges.list`);
  }
  const run = await tx.runs.get(runId ?? '');
  if (run === undefined)
    throw new GatewayError('not_found', `no run ${briefly(runId ?? '')}; see runs.list`);
  const exchange = run.exchangeId === null ? undefined : await tx.exchanges.get(run.exchangeId);
  if (exchange !== undefined) return exchange;
  throw new GatewayError(
    'not_found',
    `run ${runId} is part of no exchange: only a sessions_send of an agent's run starts one; see exchanges.list`,
  );
}

/** Returns a page of a session's exchanges, on either side, the newest first. */
export function listExchanges(
  context: ServiceContext,
  query: ExchangesQuery,
): Promise<ExchangesPage> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, LIMIT_MAX);
  return context.store.read(async (tx) => {
    const { key } = await lookUpForOperator(tx, context.config(), query.sessionKey);
    const cursor = cursorOf(context, query.cursor);
    const found = await tx.exchanges.pageOf({ sessionKey: key, cursor, limit: limit + 1 });
    const shown = found.slice(0, limit);
    const last = found.length > limit ? shown.at(-1) : undefined;
    return {
      sessionKey: key,
      exchanges: shown.map(toSummary),
      count: shown.length,
      limitApplied: limit,
      hasMore: last !== undefined,
      ...(last === undefined ? {} : { nextCursor: sealed(context, last) }),
    };
  });
}

const FORM = 'exchange';

function sealed(context: ServiceContext, { createdAt, exchangeId }: ExchangeRow): string {
  return pageCursor(context, FORM, { updatedAt: createdAt, key: exchangeId });
}

function cursorOf(context: ServiceContext, cursor: string | undefined): ExchangeCursor | undefined {
  const position = openPageCursor(context, { method: 'exchanges.list', form: FORM, cursor });
  return position && { createdAt: position.updatedAt, exchangeId: position.key };
}
