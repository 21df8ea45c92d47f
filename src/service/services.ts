/**
 * The use cases, as the doors see them. A door parses its wire format, calls one of these and
 * encodes the answer; it holds no rule of its own.
 *
 * Answers of the tools are values in every expected case (`status: "error" | "forbidden"` included).
 * Operator use cases reject with a `GatewayError` instead.
 */
import type { OperatorCaller, SessionCaller } from '../core/caller.ts';
import type { Message } from '../protocol/message.ts';
import type {
  AgentsListAnswer,
  SessionsHistoryAnswer,
  SessionsHistoryArgs,
  SessionsListAnswer,
  SessionsListArgs,
  SessionsSearchAnswer,
  SessionsSearchArgs,
  SessionsSearchPage,
  SessionsSendAnswer,
  SessionsSendArgs,
  SessionsSpawnAnswer,
  SessionsSpawnArgs,
  SessionsStopAnswer,
  SessionsStopArgs,
  SessionsWaitAnswer,
  SessionsWaitArgs,
  SessionsWaited,
} from '../protocol/tools/session-tools.ts';
import type { DeskAnswer } from './delivery/desk.ts';
import type { SendDirect, SentDirect } from './delivery/send-direct.ts';
import type { DeliveriesPage, DeliveriesQuery } from './delivery/list-deliveries.ts';
import type { AuditPage, AuditQuery } from './list-audit.ts';
import type {
  DeliveryState,
  ExchangeEndReason,
  ExchangeState,
  QueueDrop,
  QueueMode,
  RunClass,
  RunOutcome,
  RunState,
  SendPolicyAction,
  ThinkingLevel,
} from '../protocol/words.ts';
import type {
  AdmitDevice,
  DeviceAdmission,
  DeviceView,
  PairingView,
} from './devices/device-views.ts';

/** What `agent` and `chat.send` accept (SPEC B10.4), already checked for shape. */
export interface AcceptMessage {
  /** key or sessionId; absent = main session of `agentId` */
  sessionKey?: string;
  sessionId?: string;
  agentId?: string;
  message: string;
  method: 'agent' | 'chat.send';
  /** the reply goes to the session's chat */
  deliver: boolean;
  bestEffortDeliver?: boolean;
  channel?: string;
  to?: string;
  accountId?: string;
  threadId?: string;
  thinking?: ThinkingLevel;
  model?: string;
  /** run time limit, ms */
  timeoutMs?: number;
  label?: string;
  extraSystemPrompt?: string;
  idempotencyKey: string;
}
export interface Accepted {
  runId: string;
  sessionKey: string;
  acceptedAt: number;
  /** false = this key was accepted before; `state` says where that run is */
  isNew: boolean;
  state: 'queued' | 'running' | 'waiting' | RunOutcome;
  /** the run whose turn took the message in */
  mergedInto?: string;
}

/** One answer to "how did that run end?", the same words for `agent.wait` and the tools (A9, A12). */
export interface RunWaitAnswer {
  runId: string;
  sessionKey: string;
  /** `timeout` = the wait elapsed or the run timed out; `outcome` is there only for an ended run */
  status: 'ok' | 'error' | 'timeout';
  messageState: 'queued' | 'running' | 'waiting' | 'done';
  outcome?: RunOutcome;
  /** the run whose turn took the message in, and whose outcome this is */
  mergedInto?: string;
  reply?: string;
  error?: string;
  startedAt?: number;
  endedAt?: number;
}

/** A run as `runs.get` and `runs.list` show it, in the words of `agent.wait`. */
export interface RunView {
  runId: string;
  sessionKey: string;
  messageState: 'queued' | 'running' | 'waiting' | 'done';
  /** only when it has ended */
  outcome?: RunOutcome;
  reply?: string;
  error?: string;
  purpose: string;
  runClass: RunClass;
  acceptedAt: number;
  startedAt?: number;
  endedAt?: number;
  /** when its time limit stops it */
  deadlineAt?: number;
  rootRunId: string;
  hops: number;
  parentRunId?: string;
  model?: string;
  /** `operator` or the key of a session */
  stoppedBy?: string;
  mergedInto?: string;
}

export interface RunsQuery {
  sessionKey?: string;
  state?: RunState;
  limit?: number;
  cursor?: string;
}
export interface RunsPage {
  runs: RunView[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}

/** One of the two; `runId` may be any run of the exchange. */
export interface ExchangeQuery {
  exchangeId?: string | undefined;
  runId?: string | undefined;
}
export interface ExchangesQuery {
  sessionKey: string;
  limit?: number;
  cursor?: string;
}

/** An exchange as a line of `exchanges.list`. */
export interface ExchangeSummary {
  /** is the runId of the message that started it */
  exchangeId: string;
  requesterKey: string;
  targetKey: string;
  requesterRunId: string;
  rootRunId: string;
  state: ExchangeState;
  /** why the loop ended; the announce may still be under way */
  endReason?: ExchangeEndReason;
  endDetail?: string;
  /** reply-back turns done */
  turns: number;
  maxTurns: number;
  createdAt: number;
  endedAt?: number;
}
/** Who said what in one round; `text` is what the other side was told. */
export interface ExchangeTurnView {
  /** 1 = the target's first reply */
  round: number;
  speakerKey: string;
  runId: string;
  messageState: 'queued' | 'running' | 'waiting' | 'done';
  outcome?: RunOutcome;
  text: string;
  textCut?: true;
  error?: string;
  startedAt?: number;
  /** when it was said */
  at?: number;
}
/** What became of the announce: `none` with the reason, its turn, or how its text was delivered. */
export interface AnnounceView {
  state: 'pending' | 'none' | 'turn' | 'silent' | DeliveryState;
  reason?: string;
  runId?: string;
  channel?: string;
  text?: string;
  textCut?: true;
}
export interface ExchangeView extends ExchangeSummary {
  request: { text: string; textCut?: true };
  said: ExchangeTurnView[];
  announce: AnnounceView;
}
export interface ExchangesPage {
  sessionKey: string;
  exchanges: ExchangeSummary[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}

export type UsageBy = 'session' | 'agent' | 'model' | 'day';
/** Of a run, of a session, of a session and all below it (`tree`), or of everything. */
export interface UsageQuery {
  sessionKey?: string;
  runId?: string;
  tree?: boolean;
  /** first and last day, `YYYY-MM-DD` of UTC, both included */
  since?: string;
  until?: string;
  by?: UsageBy;
  limit?: number;
  cursor?: string;
}
export interface UsageTotals {
  /** model calls that may have been billed */
  calls: number;
  /** of these: interrupted, or the model did not say; what they used is not in the sums */
  unknownCalls: number;
  /** of these: of models without prices; their tokens are in the sums, their cost is not */
  unpricedCalls: number;
  /** without those of the cache */
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  totalTokens: number;
  /** what is known of the cost, exact to a billionth; null = nothing is */
  costUsd: number | null;
  /** false = the cost is not all of it, because a model has no prices */
  priced: boolean;
}
export interface UsageGroup extends UsageTotals {
  /** session key, agent, model or day */
  key: string;
}
export interface UsageAnswer {
  runId?: string;
  sessionKey?: string;
  tree?: true;
  /** the run whose turn took the message in; its usage is there */
  mergedInto?: string;
  since?: string;
  until?: string;
  by?: UsageBy;
  groups?: UsageGroup[];
  count?: number;
  limitApplied?: number;
  hasMore?: boolean;
  nextCursor?: string;
  /** of all that was asked for; absent when a page by session is not all of it */
  total?: UsageTotals;
}

/** What the operator waits for: the named runs, and the newest run of each named session. */
export interface WaitForRuns {
  runIds?: string[];
  sessionKeys?: string[];
  mode: 'any' | 'all';
  timeoutMs: number;
  signal?: AbortSignal;
}

/** One of the two: a session's run, or a run; with both the run must be one of that session. */
export interface StopByOperator {
  sessionKey?: string | undefined;
  runId?: string | undefined;
  /** also what waits in the session's lane */
  queued?: boolean;
}

export interface PatchSession {
  key: string;
  label?: string | null;
  displayName?: string | null;
  model?: string | null;
  thinkingLevel?: ThinkingLevel | null;
  verboseLevel?: string | null;
  reasoningLevel?: string | null;
  elevatedLevel?: string | null;
  sendPolicy?: SendPolicyAction | null;
  queueMode?: QueueMode | null;
  queueDebounceMs?: number | null;
  queueCap?: number | null;
  queueDrop?: QueueDrop | null;
}

export interface OperatorListQuery {
  limit?: number;
  cursor?: string;
  activeMinutes?: number;
  messageLimit?: number;
  kinds?: string[];
  agentId?: string;
  label?: string;
  search?: string;
  spawnedBy?: string;
  state?: string;
  archived?: boolean;
}

export interface Services {
  // as a session
  listSessions(caller: SessionCaller, args: SessionsListArgs): Promise<SessionsListAnswer>;
  readHistory(caller: SessionCaller, args: SessionsHistoryArgs): Promise<SessionsHistoryAnswer>;
  searchSessions(caller: SessionCaller, args: SessionsSearchArgs): Promise<SessionsSearchAnswer>;
  sendMessage(caller: SessionCaller, args: SessionsSendArgs): Promise<SessionsSendAnswer>;
  spawnSession(caller: SessionCaller, args: SessionsSpawnArgs): Promise<SessionsSpawnAnswer>;
  listAgents(caller: SessionCaller): Promise<AgentsListAnswer>;
  waitForSessions(caller: SessionCaller, args: SessionsWaitArgs): Promise<SessionsWaitAnswer>;
  stopSession(caller: SessionCaller, args: SessionsStopArgs): Promise<SessionsStopAnswer>;

  // as the operator
  acceptMessage(caller: OperatorCaller, request: AcceptMessage): Promise<Accepted>;
  /** Waits on the server; `signal` only stops this waiter, never the run. Unknown ids reject `not_found` at once. */
  waitForRun(
    runId: string,
    options: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<RunWaitAnswer>;
  /** The same for several runs. More than 100, or none, reject `invalid_request`. */
  waitForRuns(wait: WaitForRuns): Promise<SessionsWaited>;
  /** Stops a run and everything below it; resolves once that is committed. Unknown names reject `not_found`. */
  stopRuns(stop: StopByOperator): Promise<{ status: 'ok'; stopped: string[]; runIds: string[] }>;
  /** Unknown ids reject `not_found`. */
  getRun(runId: string): Promise<RunView>;
  /** The newest first. */
  listRuns(query: RunsQuery): Promise<RunsPage>;
  /** Unknown ids, and runs that are part of no exchange, reject `not_found`. */
  getExchange(query: ExchangeQuery): Promise<ExchangeView>;
  /** What was used, and what it cost. */
  readUsage(query: UsageQuery): Promise<UsageAnswer>;
  /** Those of one session, on either side, the newest first. */
  listExchanges(query: ExchangesQuery): Promise<ExchangesPage>;
  /**
   * Puts a text into the outbox, once per key, and answers when the chat has it, or soon; `signal` only
   * ends the wait. Rejects before any effect.
   */
  sendDirect(
    caller: OperatorCaller,
    send: SendDirect,
    options?: { signal?: AbortSignal },
  ): Promise<SentDirect>;
  /** What is stuck on its way to a chat, or what one session or chat was to get; the newest first. */
  listDeliveries(query: DeliveriesQuery): Promise<DeliveriesPage>;
  /** Hands a failed or unknown part over again. Unknown ids reject `not_found`, other states `invalid_request`. */
  retryDelivery(caller: OperatorCaller, deliveryId: string): Promise<DeskAnswer>;
  /** Gives a part up for good; the same rejections. */
  dropDelivery(caller: OperatorCaller, deliveryId: string): Promise<DeskAnswer>;
  /** What was changed by hand, the newest first. */
  listAudit(query: AuditQuery): Promise<AuditPage>;
  listAllSessions(query: OperatorListQuery): Promise<{
    ts: number;
    count: number;
    sessions: Record<string, unknown>[];
    hasMore: boolean;
    nextCursor?: string;
  }>;
  /** Messages of every session that is not deleted. A query that cannot be looked for rejects `invalid_request`. */
  searchAllSessions(query: SessionsSearchArgs): Promise<SessionsSearchPage>;
  readChatHistory(query: { sessionKey: string; limit?: number; maxChars?: number }): Promise<{
    sessionKey: string;
    sessionId: string;
    messages: Message[];
    pending: Record<string, unknown>[];
    thinkingLevel?: string;
    [flag: string]: unknown;
  }>;
  /** Gives the session a new transcript; `stopped` are the runs that end by it. */
  resetSession(
    caller: OperatorCaller,
    reset: { key: string },
  ): Promise<{ key: string; sessionId: string; previousSessionId?: string; stopped: string[] }>;
  /** Hides the session from every tool; `archived` are the transcripts that the operator can still read. */
  deleteSession(
    caller: OperatorCaller,
    deletion: { key: string; deleteTranscript?: boolean },
  ): Promise<{ key: string; deleted: boolean; archived: string[] }>;
  /** Every transcript that a key has had, the newest first. */
  listWindows(query: { key: string; limit?: number; cursor?: string }): Promise<{
    key: string;
    windows: Record<string, unknown>[];
    count: number;
    limitApplied: number;
    hasMore: boolean;
    nextCursor?: string;
  }>;
  patchSession(patch: PatchSession): Promise<{ key: string; entry: Record<string, unknown> }>;
  listConfiguredAgents(): Promise<{
    defaultId: string;
    mainKey: string;
    scope: string;
    agents: { id: string; name?: string }[];
  }>;
  /** Decides whether a device that has proved its key is let in. */
  admitDevice(request: AdmitDevice): Promise<DeviceAdmission>;
  listPairings(): Promise<PairingView[]>;
  approvePairing(
    caller: OperatorCaller,
    approval: { requestId: string; scopes?: readonly string[] },
  ): Promise<DeviceView>;
  rejectPairing(caller: OperatorCaller, requestId: string): Promise<PairingView>;
  listDevices(): Promise<DeviceView[]>;
  /** Resolves when the sockets of the device at this gateway are closed. */
  revokeDevice(caller: OperatorCaller, deviceId: string): Promise<DeviceView>;
  rotateDeviceToken(
    caller: OperatorCaller,
    deviceId: string,
  ): Promise<DeviceView & { deviceToken: string }>;
  status(): Promise<Record<string, unknown>>;
  /** Returns the session that a door call with this key acts as, or rejects `not_found` / `invalid_request`. */
  resolveCaller(sessionKey: string): Promise<SessionCaller>;
}
