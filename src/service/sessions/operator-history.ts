/** What an operator reads of one session: `chat.history`, `sessions.get` (B10.4). */
import { findAgent } from '../../core/agents.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Message } from '../../protocol/message.ts';
import { HISTORY_LIMIT_MAX } from '../../protocol/tools/tool-limits.ts';
import type { ServiceContext } from '../context.ts';
import type { HistoryQuery, Services } from '../services.ts';
import { unreadableReporter } from '../unreadable-rows.ts';
import { DEFAULT_HISTORY_LIMIT, parseHistoryCursor, readPage } from './read-history.ts';
import { lookUpForOperator } from './resolve-caller.ts';

/** Bytes of messages in one answer; a person reads more than a model is given. */
const MAX_BYTES = 1_048_576;

type HistoryContext = Pick<ServiceContext, 'store' | 'config' | 'logger'>;

/** Returns the newest messages of one session, tool results included, and what is accepted but not in them yet. */
export async function readChatHistory(
  context: HistoryContext,
  query: HistoryQuery,
): ReturnType<Services['readChatHistory']> {
  const { nextCursor: _, ...shown } = await readSession(context, query);
  return shown;
}

/** The same page by page: `cursor` leads to what is older. */
export function readSession(
  context: HistoryContext,
  query: HistoryQuery & { cursor?: string },
): ReturnType<Services['readSession']> {
  const config = context.config();
  return context.store.read(async (tx) => {
    const found = await lookUpForOperator(tx, config, query.sessionKey);
    const sessionId = found.sessionId ?? '';
    const start = parseHistoryCursor(query.cursor, sessionId);
    if (!start.ok) throw new GatewayError('invalid_request', `sessions.get: ${start.error}`);
    const page = await readPage(tx, {
      key: found.key,
      shownKey: found.key,
      sessionId,
      isCurrent: found.sessionId === found.session?.sessionId,
      includeTools: true,
      beforeSeq: start.beforeSeq,
      limit: Math.min(query.limit ?? DEFAULT_HISTORY_LIMIT, HISTORY_LIMIT_MAX),
      maxBytes: Math.min(query.maxChars ?? MAX_BYTES, MAX_BYTES),
      isMasked: false,
      onUnreadable: unreadableReporter(context),
    });
    const thinkingLevel =
      found.session?.thinkingLevel ?? findAgent(config, found.agentId)?.thinking;
    return {
      ...page,
      // bounded ones keep role, content and timestamp
      messages: page.messages as Message[],
      pending: page.pending.map((pending) => ({ ...pending })),
      ...(thinkingLevel !== undefined && { thinkingLevel }),
    };
  });
}
