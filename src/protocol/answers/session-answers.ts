/** What an operator is told of sessions and agents. */
import type { MessagePosition } from '../events.ts';
import type { Message } from '../message.ts';
import type {
  PendingMessage,
  SessionRowView,
  SessionsHistoryPage,
} from '../tools/session-tool-answers.ts';

export interface OperatorSessionsPage {
  ts: number;
  /** under canonical keys, the newest first */
  sessions: SessionRowView[];
  count: number;
  limitApplied: number;
  /** there when `messageLimit` was given */
  messageLimitApplied?: number;
  hasMore: boolean;
  nextCursor?: string;
  /** attached messages were cut or left out to fit together */
  messagesTruncated?: true;
}

/** A session with the settings that it has itself; `null` = inherited. */
export interface SessionPatched {
  key: string;
  entry: Record<string, unknown>;
}

export interface SessionReset {
  key: string;
  sessionId: string;
  previousSessionId?: string;
  /** runs that end by it */
  stopped: string[];
}

export interface SessionDeleted {
  key: string;
  deleted: boolean;
  /** transcripts that the operator can still read */
  archived: string[];
}

/** One transcript of a key. */
export interface WindowView {
  sessionId: string;
  startedAt: number;
  endedAt?: number;
  deletedAt?: number;
  entries: number;
  isCurrent: boolean;
  transcriptPath: string;
}
export interface WindowsPage {
  key: string;
  /** the newest first */
  windows: WindowView[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}

/** The newest messages of a session, tool results included. */
export interface ChatHistory extends Omit<SessionsHistoryPage, 'messages' | 'nextCursor'> {
  /** bounded ones keep role, content and timestamp */
  messages: Message[];
  pending: PendingMessage[];
  thinkingLevel?: string;
}

/** A page of one transcript, newest first page by page; `nextCursor` leads to older messages. */
export interface SessionMessages extends ChatHistory {
  nextCursor?: string;
}

/** One message in few words. */
export interface PreviewItem {
  role: 'user' | 'assistant' | 'tool';
  text: string;
}
export interface SessionPreview {
  /** as it was asked for */
  key: string;
  status: 'ok' | 'empty' | 'missing';
  /** the newest messages, oldest first */
  items: PreviewItem[];
}
export interface SessionPreviews {
  ts: number;
  /** in the order of the keys */
  previews: SessionPreview[];
}

/** `sessions.resolve` */
export interface SessionResolved {
  key: string;
  agentId: string;
}

/** `chat.inject` */
export interface NoteInjected {
  messageId: string;
  sessionKey: string;
  /** `pending`: the session is at work; it waits for the end of the turn */
  state: 'appended' | 'pending';
}

export interface AgentsConfigured {
  defaultId: string;
  mainKey: string;
  scope: string;
  agents: { id: string; name?: string }[];
}

/** Where the events of a followed session go on from. */
export interface MessagesSubscribed extends MessagePosition {
  subscribed: true;
  /** the session as the events name it */
  key: string;
}

/** `sessions.create` */
export interface ClientSessionOpened {
  key: string;
  sessionId: string;
  /** false = it was there */
  created: boolean;
}
