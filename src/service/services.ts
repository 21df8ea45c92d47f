/**
 * The use cases, as the doors see them. A door parses its wire format, calls one of these and
 * encodes the answer; it holds no rule of its own.
 *
 * Answers of the tools are values in every expected case (`status: "error" | "forbidden"` included).
 * Operator use cases reject with a `GatewayError` instead.
 */
import type { OperatorCaller, SessionCaller } from '../core/caller.ts';
import type { SessionsInboxAnswer, SessionsInboxPage } from '../protocol/tools/inbox-answer.ts';
import type {
  AgentsConfigured,
  ChatHistory,
  ClientSessionOpened,
  NoteInjected,
  OperatorSessionsPage,
  SessionDeleted,
  SessionMessages,
  SessionPatched,
  SessionPreviews,
  SessionReset,
  SessionResolved,
  WindowsPage,
} from '../protocol/answers/session-answers.ts';
import type { MessagePosition } from '../protocol/events.ts';
import type {
  AgentsListAnswer,
  SessionsHistoryAnswer,
  SessionsListAnswer,
  SessionsSearchAnswer,
  SessionsSearchPage,
  SessionsSendAnswer,
  SessionsSpawnAnswer,
  SessionsStopAnswer,
  SessionsWaitAnswer,
  SessionsWaited,
} from '../protocol/tools/session-tool-answers.ts';
import type {
  SessionsHistoryArgs,
  SessionsInboxArgs,
  SessionsListArgs,
  SessionsSearchArgs,
  SessionsSendArgs,
  SessionsSpawnArgs,
  SessionsStopArgs,
  SessionsWaitArgs,
} from '../protocol/tools/session-tool-args.ts';
import type { QueueDrop, QueueMode, SendPolicyAction, ThinkingLevel } from '../protocol/words.ts';
import type { DeskAnswer } from '../protocol/answers/delivery-answers.ts';
import type { DeliveriesQuery } from './delivery/list-deliveries.ts';
import type { DeliveriesPage } from '../protocol/answers/delivery-answers.ts';
import type { SendDirect } from './delivery/send-direct.ts';
import type { SentDirect } from '../protocol/answers/delivery-answers.ts';
import type { AdmitDevice, DeviceAdmission } from './devices/device-views.ts';
import type { DeviceView, PairingView } from '../protocol/answers/device-answers.ts';
import type { ExchangeQuery, ExchangesQuery } from './exchange/exchange-answers.ts';
import type { ExchangeView, ExchangesPage } from '../protocol/answers/exchange-answers.ts';
import type { AuditQuery } from './list-audit.ts';
import type { CallRead, CallsPage, CallStarted } from '../protocol/answers/call-answers.ts';
import type { CallsQuery } from './calls/list-calls.ts';
import type { DeferrableCall } from './calls/defer-call.ts';
import type { ReadCall } from './calls/read-call.ts';
import type { AuditPage } from '../protocol/answers/audit-answers.ts';
import type { OpenClientSession } from './inbox/open-client-session.ts';
import type { ModelView } from '../protocol/answers/model-answers.ts';
import type { InjectNote } from './messages/inject-note.ts';
import type { PreviewSessions } from './sessions/preview-sessions.ts';
import type { ResolveSession } from './sessions/resolve-session.ts';
import type { AcceptMessage, Accepted } from './messages/accepted-message.ts';
import type { RunsQuery, StopByOperator, WaitForRuns } from './runs/run-answers.ts';
import type {
  RunView,
  RunWaitAnswer,
  RunsPage,
  RunsStopped,
} from '../protocol/answers/run-answers.ts';
import type { ExplainPolicy, PolicyExplanation } from './policy/policy-answers.ts';
import type { FeedPage, FeedStart } from './sessions/follow-messages.ts';
import type { UsageQuery } from './usage/usage-query.ts';
import type { UsageAnswer } from '../protocol/answers/usage-answers.ts';

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

export interface HistoryQuery {
  sessionKey: string;
  limit?: number;
  maxChars?: number;
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
  /** What a client has in hand, after its reply to it; hands over what waits. */
  readInbox(caller: SessionCaller, args: SessionsInboxArgs): Promise<SessionsInboxAnswer>;
  /** Hands over what has come since; undefined when there is nothing, and for a session that is no client's. */
  takeInboxNews(caller: SessionCaller): Promise<SessionsInboxPage | undefined>;
  /** Does a call that waits, and answers with a handle on it; a refusal of the tool is its `result`. */
  deferCall(caller: SessionCaller, call: DeferrableCall): Promise<CallStarted>;
  /** How a deferred call of this session stands, now or once it is over; `signal` only ends this wait. Others reject `not_found`. */
  readCall(caller: SessionCaller, query: ReadCall): Promise<CallRead>;
  /** Those of this session, the newest first. */
  listCalls(caller: SessionCaller, query: CallsQuery): Promise<CallsPage>;
  /** Ends the wait, and nothing else. Those of others reject `not_found`. */
  cancelCall(caller: SessionCaller, callId: string): Promise<CallRead>;

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
  stopRuns(caller: OperatorCaller, stop: StopByOperator): Promise<RunsStopped>;
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
  listAllSessions(query: OperatorListQuery): Promise<OperatorSessionsPage>;
  /** Messages of every session that is not deleted. A query that cannot be looked for rejects `invalid_request`. */
  searchAllSessions(query: SessionsSearchArgs): Promise<SessionsSearchPage>;
  readChatHistory(query: HistoryQuery): Promise<ChatHistory>;
  /** The same page by page, to the beginning of the transcript. */
  readSession(query: HistoryQuery & { cursor?: string }): Promise<SessionMessages>;
  /** The newest messages of several sessions, in few words. */
  previewSessions(query: PreviewSessions): Promise<SessionPreviews>;
  /** The one session that is meant; rejects what is not there, or not the only one. */
  resolveSession(query: ResolveSession): Promise<SessionResolved>;
  /** Puts words into a session as the agent's, once per key. No run, no delivery. */
  injectNote(caller: OperatorCaller, note: InjectNote): Promise<NoteInjected>;
  /** The place from which a reader follows the messages of a session; rejects one that is not there. */
  startFeed(query: { key: string; afterSeq?: number | MessagePosition }): Promise<FeedStart>;
  /** What follows that place, a bounded part at a time; whoever reads goes on from its `at`. */
  readFeed(start: FeedStart): Promise<FeedPage>;
  /** Gives the session a new transcript; `stopped` are the runs that end by it. */
  resetSession(caller: OperatorCaller, reset: { key: string }): Promise<SessionReset>;
  /** Hides the session from every tool; `archived` are the transcripts that the operator can still read. */
  deleteSession(
    caller: OperatorCaller,
    deletion: { key: string; deleteTranscript?: boolean },
  ): Promise<SessionDeleted>;
  /** Every transcript that a key has had, the newest first. */
  listWindows(query: { key: string; limit?: number; cursor?: string }): Promise<WindowsPage>;
  /** Makes the session of a client without a runtime of ours, or finds it. */
  openClientSession(request: OpenClientSession): Promise<ClientSessionOpened>;
  patchSession(caller: OperatorCaller, patch: PatchSession): Promise<SessionPatched>;
  /** Whether a session may do something, and by which rule. Changes nothing. */
  explainPolicy(query: ExplainPolicy): Promise<PolicyExplanation>;
  listConfiguredAgents(): Promise<AgentsConfigured>;
  /** The models that the configuration names, without anything of their providers' access. */
  listConfiguredModels(): Promise<ModelView[]>;
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
