/** The answers of the session tools. */
import type { Message } from '../message.ts';
import type {
  Channel,
  RunOutcome,
  SendPolicyAction,
  SessionKind,
  SessionState,
  ThinkingLevel,
  VisibilityLevel,
} from '../words.ts';
import type { ToolRefusal } from './session-tools.ts';

/** One row of `sessions_list` (A7, B3.3). */
export interface SessionRowView {
  /** the caller's own main session is `main` */
  key: string;
  kind: SessionKind;
  channel: Channel;
  updatedAt: number;
  sessionId: string;
  /** `provider/id` in effect */
  model: string;
  /** context window of the model in effect, tokens */
  contextTokens: number;
  thinkingLevel: ThinkingLevel;
  verboseLevel: string;
  systemSent: boolean;
  /** the last finished run ended `aborted` */
  abortedLastRun: boolean;
  transcriptPath: string;
  agentId: string;
  state: SessionState;
  displayName?: string;
  label?: string;
  /** context size after the last model call, tokens */
  totalTokens?: number;
  /** only when it overrides the rules */
  sendPolicy?: SendPolicyAction;
  lastChannel?: string;
  lastTo?: string;
  deliveryContext?: { channel?: string; to?: string; accountId?: string };
  spawnedBy?: string;
  archivedAt?: number;
  /** only with `messageLimit` above 0; never tool results */
  messages?: HistoryMessage[];
}

export interface SessionsListPage {
  sessions: SessionRowView[];
  count: number;
  limitApplied: number;
  /** there when `messageLimit` was given */
  messageLimitApplied?: number;
  hasMore: boolean;
  nextCursor?: string;
  /** attached messages were cut or left out to fit `tools.sessions_history.maxBytes` together */
  messagesTruncated?: true;
  visibility: { mode: VisibilityLevel; restricted: boolean };
}
export type SessionsListAnswer = SessionsListPage | ToolRefusal;

/** A stored message, or its bounded form when the whole did not fit. */
export type HistoryMessage = Message | ({ role: Message['role'] } & Record<string, unknown>);

/** An accepted message that is not in the transcript yet. */
export interface PendingMessage {
  runId: string;
  message: string;
  acceptedAt: number;
  /** accepted and not in the transcript is `queued`, for notes too (A12) */
  state: 'queued';
}
export interface SessionsHistoryPage {
  sessionKey: string;
  sessionId: string;
  /** oldest first */
  messages: HistoryMessage[];
  pending: PendingMessage[];
  limitApplied: number;
  /** anything was cut or dropped to fit the byte cap */
  truncated: boolean;
  droppedMessages: number;
  contentTruncated: boolean;
  contentRedacted: boolean;
  /** size of `messages` as JSON */
  bytes: number;
  /** older messages exist */
  hasMore: boolean;
  /** stored messages of this page that cannot be read and are left out; absent = none */
  unreadable?: number;
  nextCursor?: string;
}
export type SessionsHistoryAnswer = SessionsHistoryPage | ToolRefusal;

/** How an accepted message stands, or how its run ended (A9). */
export interface SessionsSent {
  runId: string;
  status: 'accepted' | 'ok' | 'timeout' | 'error';
  sessionKey?: string;
  messageState?: 'queued' | 'running' | 'waiting' | 'done';
  /** only when the run has ended */
  outcome?: RunOutcome;
  reply?: string;
  /** the run ended `ok` without visible text */
  noReply?: true;
  error?: string;
  interruptedBy?: { kind: string; runId: string };
}
/** What `sessions_send` answers: the four documented shapes and `forbidden`. */
export type SessionsSendAnswer = SessionsSent | ToolRefusal;

/** What was written of the attachments of a spawn. */
export interface AttachmentReceipt {
  count: number;
  /** of all files together, decoded */
  totalBytes: number;
  files: { name: string; bytes: number; sha256: string }[];
  /** folder of the files, relative to the workspace of the child */
  relDir: string;
}

export interface SessionsSpawnAccepted {
  status: 'accepted';
  runId: string;
  childSessionKey: string;
  mode: 'run' | 'session';
  /** `provider/id` that the child runs */
  modelApplied?: string;
  thinkingApplied?: ThinkingLevel;
  /** absent when nothing was attached, or when it was purged with the child */
  attachments?: AttachmentReceipt;
  note?: string;
}
export type SessionsSpawnAnswer = SessionsSpawnAccepted | ToolRefusal;

export interface AgentsListed {
  requester: string;
  /** any configured agent may be spawned */
  allowAny: boolean;
  /** the requester first, the rest by id */
  agents: { id: string; name?: string; configured: boolean }[];
}
export type AgentsListAnswer = AgentsListed | ToolRefusal;

/** One run that a wait was for, in the words of `sessions_send`. */
export interface WaitedRun {
  runId: string;
  sessionKey: string;
  status: 'ok' | 'error' | 'timeout';
  outcome: RunOutcome;
  reply?: string;
  /** the reply is longer; `sessions_history` has it */
  replyTruncated?: true;
  /** it ended `ok` without visible text */
  noReply?: true;
  error?: string;
}
export interface SessionsWaited {
  /** `ok`: what the mode asks for has ended; `partial`: some have, or a message came in; `timeout`: none has */
  status: 'ok' | 'partial' | 'timeout';
  done: WaitedRun[];
  pending: {
    runId: string;
    sessionKey: string;
    messageState: 'queued' | 'running' | 'waiting';
  }[];
  /** a message came in for the session that waits */
  interruptedBy?: { kind: string; runId: string };
}
export type SessionsWaitAnswer = SessionsWaited | ToolRefusal;

export interface SessionsStopped {
  status: 'ok';
  /** sessions in which a run was stopped, as far as the caller may see them */
  stopped: string[];
}
export type SessionsStopAnswer = SessionsStopped | ToolRefusal;

/** A message that has what was looked for. */
export interface SearchHitView {
  /** the caller's own main session is `main` */
  sessionKey: string;
  /** the transcript it stands in; `sessions_history` takes it as a sessionKey */
  sessionId: string;
  /** place in the transcript */
  seq: number;
  role: Message['role'];
  /** one line of the text around the first word */
  snippet: string;
}
export interface SessionsSearchPage {
  /** the newest first */
  hits: SearchHitView[];
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}
export type SessionsSearchAnswer = SessionsSearchPage | ToolRefusal;
