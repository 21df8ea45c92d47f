/** What `sessions_inbox` answers. */
import type { ToolRefusal } from './session-tools.ts';

/** Who sent a message. */
export type InboxSender =
  /** the caller's own main session is `main` */
  | { kind: 'session'; sessionKey: string; agentId?: string }
  /** or a program with the gateway's credentials */
  | { kind: 'person' }
  /** what it has to say of messages that gave way */
  | { kind: 'gateway' };

/** The message that a client has in hand, until it is answered. */
export interface InboxMessage {
  /** what `reply` names; the sender knows it as runId */
  messageId: string;
  from: InboxSender;
  text: string;
  acceptedAt: number;
  state: 'running';
  /** routed messages between the first one of the chain and this one, itself included; 0 = from a person */
  hops: number;
  /** epoch ms; it ends `timeout` then. Absent = it has no limit */
  answerBy?: number;
}
/** Needs no answer, and is shown once. */
export interface InboxNote {
  from: InboxSender;
  text: string;
  /** when it was accepted */
  at: number;
}
export interface SessionsInboxPage {
  /** none or one: the next one comes when this one is answered */
  messages: InboxMessage[];
  notes: InboxNote[];
  /** messages that are not handed over yet */
  waiting: number;
  /** more notes than this answer holds; call again */
  hasMoreNotes?: true;
  /** what became of the message that was answered */
  replied?: { messageId: string; status: 'ok' };
}
export type SessionsInboxAnswer = SessionsInboxPage | ToolRefusal;
