/**
 * The session tools as they cross a boundary: argument schemas and the shapes of the answers.
 * Texts for the model are in `session-tool-specs.ts`, checking with clear errors in `parse-tool-args.ts`.
 */
import { z } from 'zod';
import { BUDGET_RULE, budgetShape } from '../budget-shape.ts';
import type { Message } from '../message.ts';
import { SESSION_KINDS, THINKING_LEVELS } from '../words.ts';
import type {
  Channel,
  RunOutcome,
  SendPolicyAction,
  SessionKind,
  SessionState,
  ThinkingLevel,
  VisibilityLevel,
} from '../words.ts';

export const SESSION_TOOL_NAMES = [
  'sessions_list',
  'sessions_history',
  'sessions_send',
  'sessions_spawn',
  'agents_list',
  'sessions_wait',
  'sessions_stop',
  'sessions_search',
  'sessions_inbox',
] as const;
export type SessionToolName = (typeof SESSION_TOOL_NAMES)[number];

export const LIST_LIMIT_MAX = 200;
export const LIST_MESSAGES_MAX = 20;
export const HISTORY_LIMIT_MAX = 1000;
export const SEARCH_LIMIT_MAX = 100;
/** notes that one answer of `sessions_inbox` hands over */
export const INBOX_NOTES_MAX = 50;
/** runs that one call may wait for */
export const WAIT_TARGETS_MAX = 100;
/** Longest texts that are taken, in characters: of labels, filters, models and idempotency keys; */
export const NAME_MAX = 256;
/** of session keys and sessionIds; */
export const KEY_MAX = 512;
/** of cursors, which hold a key; */
export const CURSOR_MAX = 4096;
/** of messages and tasks. */
export const WORDS_MAX = 1_000_000;
/** seconds */
const WAIT_TIMEOUT_MAX = 3600;
/** Seconds that a call waits which names none. */
export const WAIT_TIMEOUT_DEFAULT = 30;

/** What each parameter accepts, in words for the error text. */
export const parameterRules = z.registry<{ rule: string }>();
function ruled<T extends z.ZodType>(rule: string, schema: T): T {
  parameterRules.add(schema, { rule });
  return schema;
}

const filled = (max: number) => z.string().trim().min(1).max(max);
const optionalName = (max: number = NAME_MAX) =>
  ruled(`a text that is not blank, of at most ${max} characters`, filled(max).exactOptional());
const optionalAgentId = () =>
  ruled(
    'an agent id of letters, digits, "_" and "-"',
    z
      .string()
      .trim()
      .regex(/^[A-Za-z0-9_-]{1,64}$/)
      .exactOptional(),
  );
const countUpTo = (max: number) =>
  ruled(
    'a whole number of at least 1',
    z
      .int()
      .min(1)
      .transform((count) => Math.min(count, max))
      .exactOptional(),
  );
const waitSeconds = () =>
  ruled(
    'a number of seconds, 0 or more',
    z
      .number()
      .min(0)
      .transform((seconds) => Math.min(seconds, WAIT_TIMEOUT_MAX))
      .exactOptional(),
  );
const names = (what: string) =>
  ruled(`a list of ${what}`, z.array(filled(KEY_MAX)).exactOptional());
const flag = () => ruled('true or false', z.boolean().exactOptional());
const words = () =>
  ruled(
    `a text that is not blank, of at most ${WORDS_MAX} characters`,
    z.string().max(WORDS_MAX).regex(/\S/),
  );

/** Arguments of `sessions_list` (A7). Limits arrive clamped. */
export const sessionsListArgs = z.strictObject({
  kinds: ruled(
    `a list of ${SESSION_KINDS.join(', ')}`,
    z.array(z.enum(SESSION_KINDS)).exactOptional(),
  ),
  limit: countUpTo(LIST_LIMIT_MAX),
  cursor: optionalName(CURSOR_MAX),
  activeMinutes: ruled(
    'a number above 0 (leave it out for any age)',
    z.number().gt(0).exactOptional(),
  ),
  messageLimit: ruled(
    'a whole number, 0 for none',
    z
      .int()
      .min(0)
      .transform((count) => Math.min(count, LIST_MESSAGES_MAX))
      .exactOptional(),
  ),
  agentId: optionalAgentId(),
  label: optionalName(),
  search: optionalName(),
  spawnedBy: optionalName(KEY_MAX),
  state: ruled(
    'idle, queued, running or waiting',
    z.enum(['idle', 'queued', 'running', 'waiting']).exactOptional(),
  ),
  archived: flag(),
  includeGlobal: flag(),
  includeUnknown: flag(),
});
export type SessionsListArgs = z.output<typeof sessionsListArgs>;

/** Arguments of `sessions_history` (A8). */
export const sessionsHistoryArgs = z.strictObject({
  sessionKey: ruled(
    `a session key or a sessionId, of at most ${KEY_MAX} characters`,
    filled(KEY_MAX),
  ),
  limit: countUpTo(HISTORY_LIMIT_MAX),
  cursor: optionalName(CURSOR_MAX),
  includeTools: flag(),
});
export type SessionsHistoryArgs = z.output<typeof sessionsHistoryArgs>;

/** Arguments of `sessions_send` (A9). Exactly one way of addressing is given; `parseToolArgs` checks it. */
export const sessionsSendArgs = z.strictObject({
  sessionKey: optionalName(KEY_MAX),
  label: optionalName(),
  agentId: optionalAgentId(),
  message: words(),
  timeoutSeconds: waitSeconds(),
  mode: ruled('"run" or "note"', z.enum(['run', 'note']).exactOptional()),
  maxTurns: ruled('a whole number from 0 to 5', z.int().min(0).max(5).exactOptional()),
  idempotencyKey: optionalName(),
});
export type SessionsSendArgs = z.output<typeof sessionsSendArgs>;

/** Arguments of `sessions_spawn` (B7.1). Values without support yet are refused in the order of B7.3 (`core/spawn-rules.ts`). */
export const sessionsSpawnArgs = z.strictObject({
  task: words(),
  label: optionalName(),
  agentId: optionalAgentId(),
  model: optionalName(),
  thinking: ruled(`one of ${THINKING_LEVELS.join(', ')}`, z.enum(THINKING_LEVELS).exactOptional()),
  runTimeoutSeconds: ruled(
    'a number of seconds, 0 for no limit',
    z.number().min(0).exactOptional(),
  ),
  budget: ruled(
    BUDGET_RULE,
    budgetShape.refine((budget) => Object.keys(budget).length > 0).exactOptional(),
  ),
  thread: flag(),
  mode: ruled('"run" or "session"', z.enum(['run', 'session']).exactOptional()),
  cleanup: ruled('"keep" or "delete"', z.enum(['keep', 'delete']).exactOptional()),
  sandbox: ruled('"inherit" or "require"', z.enum(['inherit', 'require']).exactOptional()),
  // what is in a file is judged in its turn, by `core/attachments.ts`
  attachments: ruled(
    'a list of files',
    z.array(z.unknown().meta({ type: 'object' })).exactOptional(),
  ),
  attachAs: ruled(
    'an object {mountPath?: text}',
    z.strictObject({ mountPath: z.string().exactOptional() }).exactOptional(),
  ),
  idempotencyKey: optionalName(),
});
export type SessionsSpawnArgs = z.output<typeof sessionsSpawnArgs>;

/** `agents_list` takes nothing. */
export const agentsListArgs = z.strictObject({});

/** Arguments of `sessions_wait` (A20); `parseToolArgs` checks that something is waited for. */
export const sessionsWaitArgs = z.strictObject({
  runIds: names('runIds'),
  sessionKeys: names('session keys or sessionIds'),
  mode: ruled('"any" or "all"', z.enum(['any', 'all']).exactOptional()),
  timeoutSeconds: waitSeconds(),
});
export type SessionsWaitArgs = z.output<typeof sessionsWaitArgs>;

/** Arguments of `sessions_stop` (A20). Exactly one is given; `parseToolArgs` checks it. */
export const sessionsStopArgs = z.strictObject({
  sessionKey: optionalName(),
  runId: optionalName(),
  idempotencyKey: optionalName(),
});
export type SessionsStopArgs = z.output<typeof sessionsStopArgs>;

/** Arguments of `sessions_search` (A20). */
export const sessionsSearchArgs = z.strictObject({
  query: ruled(`a text that is not blank, of at most ${NAME_MAX} characters`, filled(NAME_MAX)),
  limit: countUpTo(SEARCH_LIMIT_MAX),
  cursor: optionalName(CURSOR_MAX),
  sessionKey: optionalName(KEY_MAX),
});
export type SessionsSearchArgs = z.output<typeof sessionsSearchArgs>;

/** Arguments of `sessions_inbox`. */
export const sessionsInboxArgs = z.strictObject({
  reply: ruled(
    `an object {messageId, text}: the id of the message that you have, and a text of at most ${WORDS_MAX} characters ("" = no reply)`,
    z
      .strictObject({ messageId: filled(NAME_MAX), text: z.string().max(WORDS_MAX) })
      .exactOptional(),
  ),
  limit: countUpTo(INBOX_NOTES_MAX),
});
export type SessionsInboxArgs = z.output<typeof sessionsInboxArgs>;

/** A call that had no effect: bad arguments or an unknown target (`error`), or a rule that refused it (`forbidden`). */
export interface ToolRefusal {
  status: 'error' | 'forbidden';
  /** what failed and what to do next */
  error: RefusalText;
}

declare const isNamed: unique symbol;
/** A text that belongs to a name in the closed list of refusals, where alone it is made (`core/refusals.ts`). */
export type RefusalText = string & { readonly [isNamed]: true };

/** True when the answer of any session tool is a refusal or a failure. */
export function isToolFailure(answer: object): boolean {
  return 'status' in answer && (answer.status === 'error' || answer.status === 'forbidden');
}

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
