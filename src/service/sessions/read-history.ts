/** `sessions_history` and its operator's view, `chat.history` (A8). */
import { viewHistory } from '../../core/history-view.ts';
import type { HistoryBounds, HistoryView } from '../../core/history-view.ts';
import { maskBeginning } from '../../core/mask-secrets.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { faultOf, toldOf } from '../../core/refusals.ts';
import type {
  PendingMessage,
  SessionsHistoryAnswer,
  SessionsHistoryPage,
} from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsHistoryArgs } from '../../protocol/tools/session-tool-args.ts';
import type { Message } from '../../protocol/message.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { READ_MAX_BYTES, readMessages } from './read-messages.ts';
import { resolveTarget } from './resolve-target.ts';
import { type OnUnreadable, unreadableReporter } from '../unreadable-rows.ts';

export const DEFAULT_HISTORY_LIMIT = 50;
/** Accepted messages that an answer shows before the transcript catches up. */
const PENDING_MAX = 20;
/** How much of a pending text stays when the answer does not fit, in UTF-16 units. */
const PENDING_TEXT_MAX = 500;

/** Returns the newest messages of a session that the caller may see, oldest first. */
export function readHistory(
  context: Pick<ServiceContext, 'store' | 'config' | 'logger'>,
  caller: SessionCaller,
  args: SessionsHistoryArgs,
): Promise<SessionsHistoryAnswer> {
  const config = context.config();
  return context.store.read(async (tx) => {
    const address = { sessionKey: args.sessionKey };
    const target = await resolveTarget(tx, { config, caller, address, verb: 'history' });
    if (!target.ok) return toldOf(target);
    const sessionId = target.sessionId ?? '';
    const start = parseHistoryCursor(args.cursor, sessionId);
    if (!start.ok) return faultOf('cursor', start.error);
    return readPage(tx, {
      key: target.key,
      shownKey: target.shownKey,
      sessionId,
      isCurrent: target.sessionId === target.session?.sessionId,
      includeTools: args.includeTools === true,
      beforeSeq: start.beforeSeq,
      limit: args.limit ?? DEFAULT_HISTORY_LIMIT,
      maxBytes: config.tools.sessions_history.maxBytes,
      isMasked: masksFor(config, { readerKey: caller.sessionKey, key: target.key }),
      onUnreadable: unreadableReporter(context),
    });
  });
}

/** Returns whether a session is shown the credentials in a transcript: those in its own it is (A8). */
export function masksFor(
  config: Config,
  { readerKey, key }: { readerKey: string; key: string },
): boolean {
  return config.tools.sessions_history.mask && readerKey !== key;
}

export interface HistoryQuery {
  key: string;
  shownKey: string;
  sessionId: string;
  /** the key still points at this transcript, so what is accepted goes there */
  isCurrent: boolean;
  includeTools: boolean;
  beforeSeq: number | undefined;
  limit: number;
  maxBytes: number;
  /** the reader is not shown credentials */
  isMasked: boolean;
  onUnreadable: OnUnreadable;
}

/** Returns a page of one transcript that fits `maxBytes` as JSON. */
export async function readPage(tx: ReadTx, query: HistoryQuery): Promise<SessionsHistoryPage> {
  const { sessionId, includeTools, beforeSeq, limit, onUnreadable } = query;
  const found = await readMessages(tx, {
    sessionId,
    includeTools,
    beforeSeq,
    limit,
    onUnreadable,
    maxBytes: Math.max(READ_MAX_BYTES, query.maxBytes),
  });
  const { placed, looked, leftOut, oldestSeq } = found;
  const messages = placed.map(({ message }) => message);
  const accepted = query.isCurrent && beforeSeq === undefined;
  const unmasked = accepted ? await readPending(tx, query.key) : [];
  const all = query.isMasked ? unmasked.map((one) => maskPending(one, query.maxBytes)) : unmasked;
  const { view, pending } = viewPage(query, { messages, all, leftOut });
  // what was dropped for its size comes on the next page
  const oldest = view.droppedMessages === 0 ? oldestSeq : placed[view.droppedMessages]?.seq;
  const hasMore = found.hasOlder || view.droppedMessages > 0;
  const unreadable = looked - placed.length;
  return {
    sessionKey: query.shownKey,
    sessionId,
    messages: view.messages,
    pending,
    limitApplied: limit,
    truncated: view.truncated || leftOut > 0,
    droppedMessages: view.droppedMessages + leftOut,
    contentTruncated: view.contentTruncated || pending.some((shown, at) => shown !== all[at]),
    contentRedacted: view.contentRedacted || all.some((shown, at) => shown !== unmasked[at]),
    bytes: view.bytes,
    hasMore,
    ...(unreadable > 0 && { unreadable }),
    ...(hasMore && oldest !== undefined && { nextCursor: `${sessionId}.${oldest}` }),
  };
}

/** Long pending texts are cut only when the page does not fit with them. */
function viewPage(
  query: HistoryQuery,
  page: { messages: Message[]; all: PendingMessage[]; leftOut: number },
): { view: HistoryView; pending: PendingMessage[] } {
  const { messages, all, leftOut } = page;
  const pendingLength = all.reduce((sum, { message }) => sum + message.length, 0);
  if (leftOut === 0 && pendingLength <= query.maxBytes) {
    const view = viewHistory(messages, boundsOf(query, all));
    if (!view.truncated) return { view, pending: all };
  }
  const pending = all.map(cutPending);
  return { view: viewHistory(messages, boundsOf(query, pending)), pending };
}

function boundsOf(query: HistoryQuery, pending: PendingMessage[]): HistoryBounds {
  return { maxBytes: query.maxBytes - sizeOfFrame(query, pending), isMasked: query.isMasked };
}

async function readPending(tx: ReadTx, sessionKey: string): Promise<PendingMessage[]> {
  const inputs = await tx.inputs.pending(sessionKey, PENDING_MAX);
  return inputs.map(({ inputId, text, acceptedAt }) => ({
    runId: inputId,
    message: text,
    acceptedAt,
    state: 'queued',
  }));
}

/** A text longer than the answer is cut in any case. */
function maskPending(pending: PendingMessage, maxBytes: number): PendingMessage {
  const message = maskBeginning(pending.message, maxBytes);
  return message === pending.message ? pending : { ...pending, message };
}

function cutPending(pending: PendingMessage): PendingMessage {
  const { message } = pending;
  if (message.length <= PENDING_TEXT_MAX) return pending;
  const kept = message.slice(0, PENDING_TEXT_MAX).toWellFormed();
  return {
    ...pending,
    message: `${kept}… [cut: ${message.length - kept.length} of ${message.length} characters]`,
  };
}

/** Size of everything in the answer but the messages, numbers at their longest. */
function sizeOfFrame(query: HistoryQuery, pending: PendingMessage[]): number {
  const flags =
    'limitApplied truncated droppedMessages contentTruncated contentRedacted bytes hasMore nextCursor';
  const names = { sessionKey: query.shownKey, sessionId: query.sessionId, messages: '', pending };
  return Buffer.byteLength(JSON.stringify(names)) + flags.length + query.sessionId.length + 120;
}

/** Returns where a page goes on, or what is wrong with its cursor. */
export function parseHistoryCursor(
  cursor: string | undefined,
  sessionId: string,
): { ok: true; beforeSeq: number | undefined } | { ok: false; error: string } {
  if (cursor === undefined) return { ok: true, beforeSeq: undefined };
  const at = cursor.lastIndexOf('.');
  const seq = cursor.slice(at + 1);
  if (at < 1 || !/^[0-9]{1,15}$/.test(seq))
    return { ok: false, error: 'cursor is not one of this history; pass its nextCursor' };
  if (cursor.slice(0, at) !== sessionId)
    return {
      ok: false,
      error:
        'cursor belongs to another transcript (another session, or one before a reset); leave it out to start over',
    };
  return { ok: true, beforeSeq: Number(seq) };
}
