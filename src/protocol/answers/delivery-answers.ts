/** What is told of texts on their way to chats. */
import type { DeliveryState } from '../words.ts';

/** A part of an outgoing text as the desk shows it. */
export interface DeliveryView {
  deliveryId: string;
  state: DeliveryState;
  reason?: string;
  sessionKey?: string;
  runId?: string;
  channel: string;
  to?: string;
  accountId?: string;
  threadId?: string;
  /** names the chat in `deliveries.list` */
  routeKey: string;
  /** place in its text, from 0 */
  part: number;
  attempts: number;
  /** how often it was handed to the channel, in all */
  handovers: number;
  /** nobody knows whether it is in the chat */
  mayBeShown: boolean;
  nextAttemptAt?: number;
  messageId?: string;
  sentAt?: number;
  createdAt: number;
  updatedAt: number;
  /** the beginning of it */
  text: string;
  textLength: number;
}

export interface DeliveriesPage {
  deliveries: DeliveryView[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}

export interface DeskAnswer {
  deliveryId: string;
  /** the state before */
  from: DeliveryState;
  state: DeliveryState;
  /** the part, and those of its text that it had held back */
  deliveryIds: string[];
  /** it is handed over again although it may be in the chat: the only way to show a text twice */
  mayShowTwice?: boolean;
  note?: string;
}

export interface SentDirect {
  channel: string;
  /** of all parts together: the worst of them */
  state: DeliveryState;
  deliveryIds: string[];
  /** the chat service's own name of the first part, once it is sent */
  messageId?: string;
}
