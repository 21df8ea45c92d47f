import type { SessionCaller } from '../../core/caller.ts';
import type { CallsPage } from '../../protocol/answers/call-answers.ts';
import type { ServiceContext } from '../context.ts';
import { openPageCursor, pageCursor } from '../page-cursor.ts';
import { lookAtCall, withoutAnswer } from './look-at-call.ts';

export interface CallsQuery {
  limit?: number;
  cursor?: string;
}

const DEFAULT_LIMIT = 20;
const LIMIT_MAX = 50;

/** `calls.list`: the calls of a session that are kept, the newest first. */
export function listCalls(
  context: ServiceContext,
  caller: SessionCaller,
  query: CallsQuery,
): Promise<CallsPage> {
  const { sessionKey } = caller;
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, LIMIT_MAX);
  const form = `calls of ${sessionKey}`;
  const given = { method: 'calls.list', form, cursor: query.cursor };
  const position = openPageCursor(context, given);
  const cursor = position && { createdAt: position.updatedAt, callId: position.key };
  return context.store.read(async (tx) => {
    const now = context.clock.now();
    const rows = await tx.calls.pageOf({ sessionKey, cursor, limit: limit + 1, now });
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const calls: CallsPage['calls'] = [];
    for (const row of rows.slice(0, limit))
      calls.push(withoutAnswer(await lookAtCall(tx, context, { caller, row, now })));
    return {
      calls,
      count: calls.length,
      limitApplied: limit,
      hasMore: last !== undefined,
      ...(last !== undefined && {
        nextCursor: pageCursor(context, form, { updatedAt: last.createdAt, key: last.callId }),
      }),
    };
  });
}
