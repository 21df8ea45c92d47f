/**
 * Reading the messages of a session as they come (A23): a reader has a place, and reads on from it. The
 * transcripts of a key follow one another: a run writes into the one that it has begun in, and the next
 * run begins after its end, so that nothing comes into a transcript once the next one has a message.
 */
import { viewHistory } from '../../core/history-view.ts';
import { parseStoredMessage } from '../../core/stored-message.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { MessagePosition, PlainPayloads } from '../../protocol/events.ts';
import type { Message } from '../../protocol/message.ts';
import type { WindowRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { EntryRow } from '../../store/transcript-repository.ts';
import { briefly } from '../../util/briefly.ts';
import type { ServiceContext } from '../context.ts';
import { unreadableReporter } from '../unreadable-rows.ts';
import type { FoundSession } from './look-up-session.ts';
import { countWithin } from './read-messages.ts';
import { lookUpForOperator } from './resolve-caller.ts';

type FollowContext = Pick<ServiceContext, 'store' | 'config' | 'logger'>;

/** Where a reader is; the start of the transcript tells which one is next, also when it is gone. */
export interface FeedPlace extends MessagePosition {
  startedAt: number;
}
export interface FeedStart {
  sessionKey: string;
  at: FeedPlace;
}
export type FeedMessage = PlainPayloads['session.message'];
export interface FeedPage {
  messages: FeedMessage[];
  /** the place behind them */
  at: FeedPlace;
  /** more may be there already */
  hasMore: boolean;
}

/** One read looks at so many entries at most, and so many bytes unless one entry has more. */
const PAGE_ENTRIES = 100;
const PAGE_BYTES = 256 * 1024;
/** Of one message. */
const MESSAGE_BYTES = 1_048_576;
/** Before the first transcript of a key. */
const BEGINNING: FeedPlace = { sessionId: '', seq: 0, startedAt: -1 };

/**
 * Returns the place from which a reader goes on: the end of the transcript, or where it says it was. A
 * number counts in the transcript that `key` names. Rejects a place that is not there.
 */
export function startFeed(
  { store, config }: FollowContext,
  { key, afterSeq }: { key: string; afterSeq?: number | MessagePosition },
): Promise<FeedStart> {
  return store.read(async (tx) => {
    const found = await lookUpForOperator(tx, config(), key);
    const sessionId = transcriptOf(found, afterSeq);
    const sessionKey = found.key;
    if (sessionId === '') return { sessionKey, at: placeIn(undefined, seqOf(afterSeq)) };
    const window = await tx.windows.get(sessionId);
    if (window === undefined || window.purgeAt !== null || window.sessionKey !== sessionKey)
      throw new GatewayError(
        'not_found',
        `session ${sessionKey} has no transcript "${briefly(sessionId)}"; see sessions.windows, or subscribe without afterSeq`,
      );
    return { sessionKey, at: placeIn(window, seqOf(afterSeq)) };
  });
}

/** Returns what follows a place, a bounded part at a time. An entry that cannot be read is left out. */
export function readFeed(context: FollowContext, { sessionKey, at }: FeedStart): Promise<FeedPage> {
  return context.store.read(async (tx) => {
    const own = await tx.windows.get(at.sessionId);
    const sizes = own?.purgeAt === null ? await sizesAfter(tx, at) : [];
    if (sizes.length > 0)
      return pageOf(tx, context, { sessionKey, at, sizes, isOver: isOver(own) });
    const { startedAt, sessionId } = at;
    const next = await tx.windows.following({ sessionKey, cursor: { startedAt, sessionId } });
    if (next === undefined) return { messages: [], at, hasMore: false };
    const from = { sessionId: next.sessionId, seq: 0, startedAt: next.startedAt };
    return pageOf(tx, context, {
      sessionKey,
      at: from,
      sizes: await sizesAfter(tx, from),
      isOver: isOver(next),
    });
  });
}

function transcriptOf(
  { sessionId, session }: FoundSession,
  afterSeq: number | MessagePosition | undefined,
): string {
  if (typeof afterSeq === 'object') return afterSeq.sessionId;
  return (afterSeq === undefined ? session?.sessionId : sessionId) ?? '';
}

function seqOf(afterSeq: number | MessagePosition | undefined): number | undefined {
  return typeof afterSeq === 'object' ? afterSeq.seq : afterSeq;
}

/** A reader beyond the end has seen another store than this one: what it lacks cannot be told. */
function placeIn(window: WindowRow | undefined, seq: number | undefined): FeedPlace {
  const last = window === undefined ? 0 : window.nextSeq - 1;
  if (seq !== undefined && seq > last)
    throw new GatewayError(
      'invalid_request',
      `sessions.messages.subscribe: afterSeq: ${seq} is beyond the transcript, which ends at ${last}; subscribe without afterSeq and read chat.history`,
    );
  if (window === undefined) return BEGINNING;
  return { sessionId: window.sessionId, seq: seq ?? last, startedAt: window.startedAt };
}

function isOver(window: WindowRow | undefined): boolean {
  return window?.endedAt !== null;
}

function sizesAfter(
  tx: ReadTx,
  { sessionId, seq }: MessagePosition,
): Promise<{ seq: number; bytes: number }[]> {
  return tx.entries.pageSizes({ sessionId, afterSeq: seq, limit: PAGE_ENTRIES + 1 });
}

async function pageOf(
  tx: ReadTx,
  context: FollowContext,
  read: {
    sessionKey: string;
    at: FeedPlace;
    sizes: readonly { bytes: number }[];
    /** another transcript may follow */
    isOver: boolean;
  },
): Promise<FeedPage> {
  const { sessionKey, at, sizes } = read;
  const { count } = countWithin(sizes.slice(0, PAGE_ENTRIES), PAGE_BYTES);
  const { sessionId, seq } = at;
  const entries = await tx.entries.page({ sessionId, afterSeq: seq, limit: count });
  return {
    messages: entries.flatMap((entry) => toMessage(context, { sessionKey, entry })),
    at: { ...at, seq: entries.at(-1)?.seq ?? seq },
    hasMore: sizes.length > count || read.isOver,
  };
}

function toMessage(
  context: FollowContext,
  { sessionKey, entry }: { sessionKey: string; entry: EntryRow },
): FeedMessage[] {
  const { sessionId, seq, type, json, createdAt } = entry;
  if (type !== 'message') return [];
  const stored = parseStoredMessage(json);
  if (stored === undefined) {
    unreadableReporter(context)({ column: 'entries.json', id: `${sessionId} ${seq}` });
    return [];
  }
  const { messages, contentTruncated } = viewHistory([stored], { maxBytes: MESSAGE_BYTES });
  return messages.map((message) => ({
    sessionKey,
    sessionId,
    seq,
    // a cut one keeps role, content and timestamp
    message: message as Message,
    ...(contentTruncated ? { contentTruncated } : {}),
    ts: createdAt,
  }));
}
