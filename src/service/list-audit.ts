/** `audit.list`: who changed what by hand, for the operator. */
import type { AuditView, AuditPage } from '../protocol/answers/audit-answers.ts';
import type { Config } from '../protocol/options/config.ts';
import { parseStoredObject } from '../core/stored-message.ts';
import type { AuditRow } from '../store/audit-repository.ts';
import type { AuditScope } from '../store/audit-repository.ts';
import type { ReadTx } from '../store/store.ts';
import { withoutNull } from '../util/without-null.ts';
import type { ServiceContext } from './context.ts';
import { readFilteredPage } from './filtered-page.ts';
import { openPageCursor, pageCursor } from './page-cursor.ts';
import { lookUpForOperator } from './sessions/resolve-caller.ts';
import { type OnUnreadable, unreadableReporter } from './unreadable-rows.ts';

const DEFAULT_LIMIT = 50;
const LIMIT_MAX = 200;
/** keeps cursors of this list apart from others */
const FORM = 'audit';

export interface AuditQuery {
  /** what was done, by its method: `sessions.delete` */
  action?: string;
  sessionKey?: string;
  actor?: string;
  limit?: number;
  cursor?: string;
}

/** Returns a page, the newest first. A session that neither is there nor ever was rejects `not_found`. */
export function listAudit(context: ServiceContext, query: AuditQuery): Promise<AuditPage> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, LIMIT_MAX);
  const position = openPageCursor(context, {
    method: 'audit.list',
    form: FORM,
    cursor: query.cursor,
  });
  const onUnreadable = unreadableReporter(context);
  return context.store.read(async (tx) => {
    const wanted = await wantedOf(tx, context.config(), query);
    const [of] = wanted;
    const start = position && { at: position.updatedAt, id: position.key };
    const { rows, next } = await readFilteredPage<AuditRow>({
      limit,
      read: (after, count) =>
        tx.audit.page({
          ...(of === undefined ? {} : { of }),
          cursor: after === undefined ? start : { at: after.at, id: after.id },
          limit: count,
        }),
      keep: (row) => wanted.every((filter) => isIn(row, filter)),
    });
    return {
      lines: rows.map((row) => toAuditView(row, onUnreadable)),
      count: rows.length,
      limitApplied: limit,
      hasMore: next !== undefined,
      ...(next === undefined
        ? {}
        : { nextCursor: pageCursor(context, FORM, { updatedAt: next.at, key: next.id }) }),
    };
  });
}

type Filter = { sessionKey: string } | { action: string } | { actor: string };

/** What is asked for, what names the fewest lines first: the page is one search for that. */
async function wantedOf(tx: ReadTx, config: Config, query: AuditQuery): Promise<Filter[]> {
  const { sessionKey, action, actor } = query;
  return [
    ...(sessionKey === undefined ? [] : [{ sessionKey: await keyOf(tx, config, sessionKey) }]),
    ...(action === undefined ? [] : [{ action }]),
    ...(actor === undefined ? [] : [{ actor }]),
  ];
}

/** A session that was purged is known by its lines, under its key. */
async function keyOf(tx: ReadTx, config: Config, sessionKey: string): Promise<string> {
  try {
    return (await lookUpForOperator(tx, config, sessionKey)).key;
  } catch (error) {
    const of: AuditScope = { sessionKey };
    const lines = await tx.audit.page({ of, cursor: undefined, limit: 1 });
    if (lines.length === 0) throw error;
    return sessionKey;
  }
}

function isIn(row: AuditRow, filter: Filter): boolean {
  if ('sessionKey' in filter) return row.sessionKey === filter.sessionKey;
  return 'action' in filter ? row.action === filter.action : row.actor === filter.actor;
}

function toAuditView(
  { detailJson, sessionKey, ...line }: AuditRow,
  onUnreadable: OnUnreadable,
): AuditView {
  const detail = detailJson === null ? undefined : parseStoredObject(detailJson);
  if (detailJson !== null && detail === undefined)
    onUnreadable({ column: 'audit.detail_json', id: line.id });
  return {
    ...line,
    ...withoutNull({ sessionKey }),
    ...(detail === undefined ? {} : { detail }),
  };
}
