/** The rows of the outbox, one for each part of an outgoing text, and what reads and writes them. */
import type { DeliveryState } from '../protocol/words.ts';

/** The outbox: one row per part of an outgoing text. */
export interface DeliveryRow {
  deliveryId: string;
  /** names the effect; unique, handed to the channel */
  idempotencyKey: string;
  /** the session whose chat receives it, `''` = none is known */
  sessionKey: string;
  channel: string;
  routeTo: string | null;
  accountId: string | null;
  threadId: string | null;
  runId: string | null;
  /** the chat, as a name of bounded length: `routeKeyOf` */
  routeKey: string;
  /** place among all parts of the route, from 1; 0 = it never goes out */
  routeSeq: number;
  /** the text it is a part of */
  textKey: string;
  /** place in that text, from 0 */
  part: number;
  /** `''` = it has come to its end, and its transcript was purged */
  text: string;
  state: DeliveryState;
  /** why suppressed, failed, unknown, dropped or tried again */
  reason: string | null;
  /** tries since it was queued, or queued again at the desk */
  attempts: number;
  /** how often it was handed to a channel, in all; names the hand-over that is under way */
  handovers: number;
  /** boot id of the gateway that hands it over, null = nobody does */
  sender: string | null;
  /** when the hand-over that is under way began */
  sendingAt: number | null;
  /** the first hand-over that nobody knows the effect of, null = none */
  unclearSince: number | null;
  /** not to be handed over before */
  nextAttemptAt: number;
  /** the chat service's own name of what it shows */
  messageId: string | null;
  sentAt: number | null;
  /** sha256 of what an idempotency key of the method `send` stands for, on each part of its text */
  contentHash: string | null;
  createdAt: number;
  updatedAt: number;
}

/** A page position in newest-first order. */
export interface DeliveryCursor {
  createdAt: number;
  deliveryId: string;
}

/** What a walk needs of a part to know whether it belongs on a page; its text, which may be large, stays in the store. */
export type DeliveryPlace = Pick<
  DeliveryRow,
  'deliveryId' | 'sessionKey' | 'routeSeq' | 'state' | 'attempts' | 'createdAt'
>;

export interface DeliveryReads {
  get(deliveryId: string): Promise<DeliveryRow | undefined>;
  /** Deliveries in this state, oldest first. */
  byState(state: DeliveryRow['state'], limit: number): Promise<DeliveryRow[]>;
  ofSession(sessionKey: string, limit: number): Promise<DeliveryRow[]>;
  /** Whether parts for the chat of this session are queued or under way. */
  hasOpen(sessionKey: string): Promise<boolean>;
  /** The parts of a text, in order. */
  ofText(textKey: string): Promise<DeliveryRow[]>;
  /** The oldest part of a route that is queued or under way: the one to go next. */
  headOfRoute(routeKey: string): Promise<DeliveryRow | undefined>;
  /** True while the gateway of this boot id is among those of the store; where there is one gateway, no other is. */
  senderLives(sender: string): Promise<boolean>;
  /** The newest part of a route, in whatever state. */
  lastOfRoute(routeKey: string): Promise<DeliveryRow | undefined>;
  /** Deliveries in one state strictly after `cursor`, newest first; `retrying` = queued and tried before. */
  pageOfState(query: {
    state: DeliveryRow['state'] | 'retrying';
    cursor: DeliveryCursor | undefined;
    limit: number;
  }): Promise<DeliveryPlace[]>;
  /** The same of one session, in whatever state. */
  pageOfSession(query: {
    sessionKey: string;
    cursor: DeliveryCursor | undefined;
    limit: number;
  }): Promise<DeliveryPlace[]>;
  /** Parts with a place in a route strictly before `beforeSeq`, the newest first. */
  pageOfRoute(query: {
    routeKey: string;
    beforeSeq: number | undefined;
    limit: number;
  }): Promise<DeliveryPlace[]>;
}

export interface DeliveryWrites extends DeliveryReads {
  /** Adds the row; returns false and changes nothing when its idempotency key is already there. */
  insert(row: DeliveryRow): Promise<boolean>;
  update(
    deliveryId: string,
    patch: Partial<
      Pick<
        DeliveryRow,
        | 'text'
        | 'state'
        | 'reason'
        | 'attempts'
        | 'handovers'
        | 'sender'
        | 'sendingAt'
        | 'unclearSince'
        | 'nextAttemptAt'
        | 'messageId'
        | 'sentAt'
        | 'updatedAt'
      >
    >,
  ): Promise<void>;
}
