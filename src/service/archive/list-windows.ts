/** `sessions.windows`: every transcript that a key has had, for the operator (A21). */
import { parseSessionCursor, encodeSessionCursor } from '../../core/session-cursor.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { WindowRow } from '../../store/rows.ts';
import type { ServiceContext } from '../context.ts';
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
  const cursor = positionOf(query.cursor, context.cursorSecret);
  return context.store.read(async (tx) => {
    const found = await lookUpForOperator(tx, context.config(), query.key);
    const { key: sessionKey, agentId, session } = found;
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
        nextCursor: encodeSessionCursor(
          { updatedAt: last.startedAt, key: last.sessionId },
          context.cursorSecret,
        ),
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

function positionOf(cursor: string | undefined, secret: string) {
  if (cursor === undefined) return undefined;
  const parsed = parseSessionCursor(cursor, secret);
  if (!parsed.ok) throw new GatewayError('invalid_request', `sessions.windows: ${parsed.error}`);
  return { startedAt: parsed.position.updatedAt, sessionId: parsed.position.key };
}
