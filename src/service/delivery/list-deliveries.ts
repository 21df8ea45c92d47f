/** `deliveries.list`: what is stuck on its way to a chat, or all that one session or chat was to get. */
import type { DeliveryView, DeliveriesPage } from '../../protocol/answers/delivery-answers.ts';
import type { CursorPosition } from '../../core/session-cursor.ts';
import type { DeliveryState } from '../../protocol/words.ts';
import type { DeliveryPlace, DeliveryRow } from '../../store/delivery-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { withoutNull } from '../../util/without-null.ts';
import type { ServiceContext } from '../context.ts';
import { type FilteredPage, readFilteredPage } from '../filtered-page.ts';
import { openPageCursor, pageCursor } from '../page-cursor.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';

const DEFAULT_LIMIT = 50;
const LIMIT_MAX = 200;
/** Characters of a text that a list shows. */
const TEXT_SHOWN = 500;

/** `retrying` = queued after an attempt that failed */
export type DeliveryFilter = DeliveryState | 'retrying';
const STUCK: readonly DeliveryFilter[] = ['failed', 'unknown', 'retrying'];

export interface DeliveriesQuery {
  /** default: what is stuck; of one session or route: all */
  states?: DeliveryFilter[];
  sessionKey?: string;
  routeKey?: string;
  limit?: number;
  cursor?: string;
}

/** Returns a page, the newest first. An unknown session rejects `not_found`. */
export function listDeliveries(
  context: ServiceContext,
  query: DeliveriesQuery,
): Promise<DeliveriesPage> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, LIMIT_MAX);
  const form = query.routeKey === undefined ? 'delivery' : 'route';
  const { cursor } = query;
  const position = openPageCursor(context, { method: 'deliveries.list', form, cursor });
  return context.store.read(async (tx) => {
    const { rows, next } = await pageOf(tx, context, { query, position, limit });
    const deliveries: DeliveryView[] = [];
    for (const { deliveryId } of rows) {
      const row = must(await tx.deliveries.get(deliveryId), 'a delivery of the same snapshot');
      deliveries.push(toDeliveryView(row));
    }
    return {
      deliveries,
      count: rows.length,
      limitApplied: limit,
      hasMore: next !== undefined,
      ...(next === undefined ? {} : { nextCursor: pageCursor(context, form, placeOf(next, form)) }),
    };
  });
}

interface Asked {
  query: DeliveriesQuery;
  position: CursorPosition | undefined;
  limit: number;
}
type Page = FilteredPage<DeliveryPlace>;

async function pageOf(tx: ReadTx, context: ServiceContext, asked: Asked): Promise<Page> {
  const { sessionKey, routeKey, states } = asked.query;
  if (sessionKey === undefined && routeKey === undefined) return pageOfStates(tx, asked);
  const key =
    sessionKey === undefined
      ? undefined
      : (await lookUpForOperator(tx, context.config(), sessionKey)).key;
  return readFilteredPage({
    limit: asked.limit,
    read: (after, limit) => readOn(tx, { ...asked, key, after, limit }),
    keep: (row) =>
      (key === undefined || row.sessionKey === key) &&
      (states === undefined || states.some((state) => isIn(row, state))),
  });
}

/** Returns the next parts of a chat, or of a session where none is named. */
function readOn(
  tx: ReadTx,
  of: Asked & { key: string | undefined; after: DeliveryPlace | undefined },
): Promise<DeliveryPlace[]> {
  const { query, position, key, after, limit } = of;
  const { routeKey } = query;
  if (routeKey !== undefined) {
    const beforeSeq = after?.routeSeq ?? position?.updatedAt;
    return tx.deliveries.pageOfRoute({ routeKey, beforeSeq, limit });
  }
  const cursor = after ?? toCursor(position);
  return tx.deliveries.pageOfSession({ sessionKey: key ?? '', cursor, limit });
}

/** Each state has an index of its own, so the newest of all are among the newest of each. */
async function pageOfStates(tx: ReadTx, { query, position, limit }: Asked): Promise<Page> {
  const found: DeliveryPlace[] = [];
  for (const state of new Set(query.states ?? STUCK)) {
    const { rows } = await readFilteredPage<DeliveryPlace>({
      limit: limit + 1,
      read: (after, count) =>
        tx.deliveries.pageOfState({ state, cursor: after ?? toCursor(position), limit: count }),
      keep: () => true,
    });
    found.push(...rows);
  }
  const newest = [...new Map(found.map((row) => [row.deliveryId, row])).values()].toSorted(
    (a, b) => b.createdAt - a.createdAt || (a.deliveryId < b.deliveryId ? 1 : -1),
  );
  const rows = newest.slice(0, limit);
  return { rows, next: newest.length > limit ? rows.at(-1) : undefined };
}

function isIn({ state, attempts }: DeliveryPlace, filter: DeliveryFilter): boolean {
  return filter === 'retrying' ? state === 'queued' && attempts > 0 : state === filter;
}

function toCursor(position: CursorPosition | undefined) {
  if (position === undefined) return undefined;
  return { createdAt: position.updatedAt, deliveryId: position.key };
}

function placeOf(row: DeliveryPlace, form: 'delivery' | 'route'): CursorPosition {
  const updatedAt = form === 'route' ? row.routeSeq : row.createdAt;
  return { updatedAt, key: row.deliveryId };
}

/** Returns a part as the desk shows it; only the beginning of its text. */
function toDeliveryView(row: DeliveryRow): DeliveryView {
  const { state } = row;
  const optional = {
    reason: row.reason,
    sessionKey: row.sessionKey === '' ? null : row.sessionKey,
    runId: row.runId,
    to: row.routeTo,
    accountId: row.accountId,
    threadId: row.threadId,
    nextAttemptAt: state === 'queued' ? row.nextAttemptAt : null,
    messageId: row.messageId,
    sentAt: row.sentAt,
  };
  return {
    deliveryId: row.deliveryId,
    state,
    channel: row.channel,
    routeKey: row.routeKey,
    part: row.part,
    attempts: row.attempts,
    handovers: row.handovers,
    mayBeShown: mayBeShown(row),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    ...withoutNull(optional),
    text: row.text.slice(0, TEXT_SHOWN).toWellFormed(),
    textLength: row.text.length,
  };
}

/** True when nobody knows whether the chat has the part. */
export function mayBeShown({ state, unclearSince }: DeliveryRow): boolean {
  return state === 'unknown' || state === 'sending' || unclearSince !== null;
}
