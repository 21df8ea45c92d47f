/** A chat service that outgoing texts are handed to. */

export interface OutgoingPart {
  /** names the effect; the same key is never shown twice by an idempotent channel */
  idempotencyKey: string;
  sessionKey: string;
  runId: string | null;
  to: string | null;
  accountId: string | null;
  threadId: string | null;
  text: string;
}

export type SendOutcome =
  | { status: 'sent' }
  /** worth another attempt */
  | { status: 'retry'; reason: string }
  /** never worth one */
  | { status: 'failed'; reason: string };

/**
 * Contract: `send` may be called again with the same key after a crash when `idempotent` is true;
 * it must resolve, not reject, for anything the service answers.
 */
export interface ChannelAdapter {
  readonly id: string;
  readonly idempotent: boolean;
  /** true when it reaches the clients of this gateway alone, so that each gateway hands the part over */
  readonly reachesOwnClients?: boolean;
  /** longest text of one part, in UTF-16 units */
  readonly maxPartLength: number;
  send(part: OutgoingPart): Promise<SendOutcome>;
}
