/** `sessions.windows`: every transcript that a key has had, for the operator (A21). */
import type { WindowRow } from '../../store/session-repository.ts';
import type { ServiceContext } from '../context.ts';
import { openPageCursor, pageCursor } from '../page-cursor.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import { transcriptPathOf } from '../sessions/session-row-view.ts';
import type { Services } from '../services.ts';

const DEFAULT_LIMIT = 50;
const LIMIT_MAX = 200;

/** Returns one page of the transcripts of a key, the newest first. What is being purged is not among them. */
export function listWindows(
  context: Pick<ServiceContext, 'store' | 'config' | 'stateDir' | 'cursorSecret'>,
  query: { key: string; limit?: number; cursor?: string },
): ReturnType<Services['listWindows']> {
  const limit = Math.min(query.limit ?? DEFAULT_LIMIT, LIMIT_MAX);
  return context.store.read(async (tx) => {
    const found = await lookUpForOperator(tx, context.config(), query.key);
    const { key: sessionKey, agentId, session } = found;
    const form = `transcript of ${sessionKey}`;
    const cursor = positionOf(context, { form, cursor: query.cursor });
    const rows = await tx.windows.ofKey({ sessionKey, cursor, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    const windows = page
      .filter(({ purgeAt }) => purgeAt === null)
      .map((window) => ({
        ...toView(window),
        isCurrent: window.sessionId === session?.sessionId && session.deletedAt === null,
        transcriptPath: transcriptPathOf(context.stateDir, {
          agentId,
          sessionId: window.sessionId,
        }),
      }));
    return {
      key: sessionKey,
      windows,
      count: windows.length,
      limitApplied: limit,
      hasMore: last !== undefined,
      ...(last !== undefined && {
        nextCursor: pageCursor(context, form, { updatedAt: last.startedAt, key: last.sessionId }),
      }),
    };
  });
}

function toView({ sessionId, startedAt, endedAt, deletedAt, nextSeq }: WindowRow) {
  return {
    sessionId,
    startedAt,
    ...(endedAt !== null && { endedAt }),
    ...(deletedAt !== null && { deletedAt }),
    entries: nextSeq - 1,
  };
}

function positionOf(
  context: Pick<ServiceContext, 'cursorSecret'>,
  given: { form: string; cursor: string | undefined },
) {
  const position = openPageCursor(context, { method: 'sessions.windows', ...given });
  return position && { startedAt: position.updatedAt, sessionId: position.key };
}
