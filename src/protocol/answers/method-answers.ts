/** What each gateway method answers; the gateway's handlers and the client's methods are typed by it. */
import type { SessionsSearchPage, SessionsWaited } from '../tools/session-tool-answers.ts';
import type { AuditPage } from './audit-answers.ts';
import type { CallRead, CallsPage, CallStarted } from './call-answers.ts';
import type { DeliveriesPage, DeskAnswer, SentDirect } from './delivery-answers.ts';
import type { DeviceView, PairingView } from './device-answers.ts';
import type { ExchangeView, ExchangesPage } from './exchange-answers.ts';
import type {
  AgentAccepted,
  ChatSent,
  RunView,
  RunWaitAnswer,
  RunsPage,
  RunsStopped,
  SessionAborted,
} from './run-answers.ts';
import type {
  AgentsConfigured,
  ChatHistory,
  ClientSessionOpened,
  MessagesSubscribed,
  NoteInjected,
  OperatorSessionsPage,
  SessionDeleted,
  SessionMessages,
  SessionPatched,
  SessionPreviews,
  SessionReset,
  SessionResolved,
  WindowsPage,
} from './session-answers.ts';
import type { PresenceEntry } from '../presence.ts';
import type { ModelView } from './model-answers.ts';
import type { PolicyExplained } from './policy-answers.ts';
import type { UsageAnswer } from './usage-answers.ts';

/** Option paths, never values. */
export interface ReloadReport {
  applied: string[];
  /** changed in the file and kept as it was: these need a restart */
  needsRestart: string[];
  /** sections in which nothing changed */
  unchanged: string[];
}

/** A tool as a session is offered it. */
export interface OfferedTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments */
  parameters: Record<string, unknown>;
}

type Done<Answer = object> = { ok: true } & Answer;

/** `agent` answers twice: this is its first answer, `AgentFinal` the second. */
export interface MethodAnswers {
  health: { ok: boolean; ts: number };
  status: { version: string } & Record<string, unknown>;
  'sessions.list': OperatorSessionsPage;
  'sessions.search': SessionsSearchPage;
  'sessions.patch': Done<SessionPatched>;
  'sessions.reset': Done<SessionReset>;
  'sessions.delete': Done<SessionDeleted>;
  'sessions.windows': WindowsPage;
  'sessions.get': SessionMessages;
  'sessions.preview': SessionPreviews;
  'sessions.resolve': Done<SessionResolved>;
  'sessions.send': ChatSent;
  'sessions.abort': Done<SessionAborted>;
  'sessions.create': Done<ClientSessionOpened>;
  'sessions.subscribe': { subscribed: boolean };
  'sessions.unsubscribe': { subscribed: boolean };
  'sessions.messages.subscribe': MessagesSubscribed;
  'sessions.messages.unsubscribe': { subscribed: false; key: string };
  'chat.send': ChatSent;
  'chat.history': ChatHistory;
  agent: AgentAccepted;
  'agent.wait': RunWaitAnswer;
  'runs.get': RunView;
  'runs.list': RunsPage;
  'runs.wait': SessionsWaited;
  'runs.stop': RunsStopped;
  'exchanges.get': ExchangeView;
  'exchanges.list': ExchangesPage;
  usage: UsageAnswer;
  send: SentDirect;
  'deliveries.list': DeliveriesPage;
  'deliveries.retry': Done<DeskAnswer>;
  'deliveries.drop': Done<DeskAnswer>;
  'audit.list': AuditPage;
  'chat.abort': Done<{ aborted: boolean; runIds: string[] }>;
  'chat.inject': Done<NoteInjected>;
  'agents.list': AgentsConfigured;
  'models.list': { models: ModelView[] };
  'system-presence': PresenceEntry[];
  'tools.invoke': Done<{ result: unknown }>;
  'tools.catalog': { sessionKey: string; tools: OfferedTool[] };
  'calls.start': Done<CallStarted>;
  'calls.get': CallRead;
  'calls.list': CallsPage;
  'calls.cancel': Done<{ call: CallRead }>;
  'policy.explain': PolicyExplained;
  'device.pair.list': { pending: PairingView[] };
  'device.pair.approve': Done<{ device: DeviceView }>;
  'device.pair.reject': Done<{ rejected: PairingView }>;
  'device.list': { devices: DeviceView[] };
  'device.revoke': Done<{ device: DeviceView }>;
  'device.token.rotate': Done<DeviceView & { deviceToken: string }>;
  'config.reload': ReloadReport;
}
