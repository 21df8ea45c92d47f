/** A chat service that outgoing texts are handed to, and that people's messages come from. */
import type { ChatType } from '../protocol/words.ts';

export interface OutgoingPart {
  /** names the effect; the same key is never shown twice by an idempotent channel */
  idempotencyKey: string;
  /** `''` = no session is known for this chat */
  sessionKey: string;
  runId: string | null;
  to: string | null;
  accountId: string | null;
  threadId: string | null;
  text: string;
}

export type SendOutcome =
  /** it stands in the chat; `messageId` is the service's own name of it */
  | { status: 'sent'; messageId?: string }
  /** it was not taken; worth another attempt */
  | { status: 'retry'; reason: string }
  /** it was not taken and never will be */
  | { status: 'failed'; reason: string }
  /** nobody knows whether it was taken; a rejection says the same */
  | { status: 'unclear'; reason: string };

/** Whether the chat has a part; `unknown` = the service cannot say, now or later. */
export type ReadBack = 'sent' | 'not-sent' | 'unknown';

/** A person's message from a chat. */
export interface InboundMessage {
  /** the service's own name of it; the same one is taken once */
  messageId: string;
  chatType: ChatType;
  /** the chat: of a direct one the person, else the group or channel */
  chatId: string;
  threadId?: string;
  /** the account of ours that it was sent to */
  accountId?: string;
  senderId: string;
  text: string;
}

/** Expected refusals are values: the adapter must not try again, and may tell the person unless it is `silent`. */
export type InboundAnswer =
  | { accepted: true; runId: string; sessionKey: string; isNew: boolean }
  | { accepted: false; error: string; silent?: true };

/** Resolves once the message is committed; rejects when it may be offered again, under the same messageId. */
export type ReceiveMessage = (message: InboundMessage) => Promise<InboundAnswer>;

/**
 * Contract: `send` resolves with what it knows. It must say `retry` or `failed` only when the text is
 * not in the chat and will not get there by this call; when it cannot know (no answer, a broken
 * connection), it says `unclear` or rejects. An idempotent channel shows a key once, and answers a
 * repeated one `sent`; then `send` may be called again with the key, also after a crash. Parts of one
 * chat are handed over one after another. `signal` aborts when nobody waits for the answer any more.
 */
export interface ChannelAdapter {
  readonly id: string;
  readonly idempotent: boolean;
  /** for how long a key is known, in milliseconds; absent = for good */
  readonly idempotencyWindowMs?: number;
  /** true when it reaches the clients of this gateway alone, so that each gateway hands the part over */
  readonly reachesOwnClients?: boolean;
  /** longest text of one part, in UTF-16 units; at least 64 */
  readonly maxPartLength: number;
  /** a call that takes longer is given up, in milliseconds; absent = a minute */
  readonly callLimitMs?: number;
  send(part: OutgoingPart, signal: AbortSignal): Promise<SendOutcome>;
  /** Looks whether the chat has a part that was handed over before. A rejection is worth another look. */
  readBack?(part: OutgoingPart, signal: AbortSignal): Promise<ReadBack>;
  /** Begins to hand in what people write. Called once, before anything is sent. */
  start?(receive: ReceiveMessage): Promise<void>;
  /** Hands in nothing more. */
  stop?(): Promise<void>;
}
