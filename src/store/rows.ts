/**
 * The rows of the store, one interface per table (DESIGN 3). Times are epoch milliseconds.
 * JSON columns are text in the database and appear here as strings named `...Json`.
 */
import type {
  AnnounceMode,
  ChatType,
  DeliveryState,
  ExchangeEndReason,
  ExchangeState,
  NoAnnounceReason,
  QueueDrop,
  QueueMode,
  RunClass,
  RunState,
  SendPolicyAction,
  SessionKind,
  SessionState,
  ThinkingLevel,
} from '../protocol/words.ts';

/** One session key and what is known about it. */
export interface SessionRow {
  /** canonical key */
  key: string;
  agentId: string;
  kind: SessionKind;
  /** the window the key points at now */
  sessionId: string;
  chatType: ChatType | null;
  /** channel recorded at creation (groups), else null */
  channel: string | null;
  label: string | null;
  displayName: string | null;
  /** model override `provider/id`, null = the agent's */
  model: string | null;
  thinkingLevel: ThinkingLevel | null;
  verboseLevel: string | null;
  reasoningLevel: string | null;
  elevatedLevel: string | null;
  /** `provider/id` of the last model call */
  lastModel: string | null;
  inputTokens: number;
  outputTokens: number;
  /** context size after the last model call, null = unknown */
  totalTokens: number | null;
  systemSent: boolean;
  abortedLastRun: boolean;
  sendPolicy: SendPolicyAction | null;
  /** override of `messages.queue.mode`, null = by configuration */
  queueMode: QueueMode | null;
  /** override of `messages.queue.debounceMs` */
  queueDebounceMs: number | null;
  /** override of `messages.queue.cap` */
  queueCap: number | null;
  /** override of `messages.queue.drop` */
  queueDrop: QueueDrop | null;
  lastChannel: string | null;
  lastTo: string | null;
  lastAccountId: string | null;
  lastThreadId: string | null;
  /** the session that spawned this one; write-once */
  spawnedBy: string | null;
  /** the topmost ancestor, itself when not spawned; write-once */
  rootKey: string;
  spawnDepth: number;
  createdAt: number;
  updatedAt: number;
  /** when it is archived, null = no clock runs */
  archiveAt: number | null;
  archivedAt: number | null;
  /** hidden from every tool since then; what is deleted is archived too */
  deletedAt: number | null;
}

/** One transcript: every sessionId a key has had. */
export interface WindowRow {
  sessionId: string;
  sessionKey: string;
  startedAt: number;
  endedAt: number | null;
  /** seq of the next entry, from 1 */
  nextSeq: number;
  lastEntryId: string | null;
  /** hidden from every tool since then; the operator reads it until it is purged */
  deletedAt: number | null;
  /** hidden from everybody since then, its rows go step by step */
  purgeAt: number | null;
}

/** One line of a window; append only. */
export interface EntryRow {
  sessionId: string;
  seq: number;
  entryId: string;
  parentId: string | null;
  /** `message`, `compaction`, `model_change`, … */
  type: string;
  /** role of a `message`, else null */
  role: 'user' | 'assistant' | 'toolResult' | null;
  runId: string | null;
  /** for `message`: the message itself; else the whole entry */
  json: string;
  createdAt: number;
}

export type InputKind =
  /** a person's or an operator's message */
  | 'message'
  /** a primary message of `sessions_send` */
  | 'inter_session'
  /** a turn of an exchange */
  | 'exchange'
  /** a child's task */
  | 'task'
  /** a prompt the gateway made itself: announce turns */
  | 'prompt'
  /** a message of `sessions_send` that joins the next turn and starts none (`mode: note`) */
  | 'note'
  /** a child's announced result, which joins the next turn too */
  | 'announce'
  /** what was dropped because too many messages waited; it joins the next turn too (B12) */
  | 'summary';

/** One accepted message before (and after) it is in a transcript. */
export interface InputRow {
  /** is the runId given at acceptance */
  inputId: string;
  sessionKey: string;
  /** order in the lane */
  seq: number;
  kind: InputKind;
  /** null for a note until it is appended by a run */
  runId: string | null;
  text: string;
  /** `Provenance` as JSON, or null */
  provenanceJson: string | null;
  state: 'pending' | 'appended' | 'dropped';
  /** who accepted under which name: `<caller> <method>`, null = no key */
  idempotencyScope: string | null;
  idempotencyKey: string | null;
  /** sha256 of the content that the key names */
  contentHash: string | null;
  /** root of the message tree, for the loop limits (A11) */
  rootRunId: string;
  /** canonical key of the sending session, null for a person or operator */
  sourceKey: string | null;
  acceptedAt: number;
  appendedAt: number | null;
}

export type RunPurpose =
  | 'message'
  | 'exchange_turn'
  | 'exchange_announce'
  | 'task'
  | 'spawn_announce'
  /** the requester passes a child's result on */
  | 'spawn_relay';

/** One agent turn and its outcome. */
export interface RunRow {
  /** the id of its first input */
  runId: string;
  sessionKey: string;
  /** window it writes to, null until claimed */
  sessionId: string | null;
  /** order in the lane; below 0: ahead of all that waits, the newest first (an interrupt) */
  seq: number;
  state: RunState;
  runClass: RunClass;
  purpose: RunPurpose;
  exchangeId: string | null;
  /** child key of the spawn this run belongs to */
  spawnKey: string | null;
  rootRunId: string;
  hops: number;
  /** the run whose tool call or outcome caused this one */
  parentRunId: string | null;
  /** the reply goes to a chat */
  deliver: boolean;
  /** `Route` as JSON where the reply goes, null = the session's last route */
  routeJson: string | null;
  /** `RunOptions` as JSON: overrides of this run alone */
  optionsJson: string | null;
  acceptedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** wall time limit from claim, 0 = none */
  timeoutMs: number;
  deadlineAt: number | null;
  /** interrupted attempts since the transcript last advanced */
  attempts: number;
  /** visible reply, null until ended */
  reply: string | null;
  error: string | null;
  model: string | null;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** US dollars, null = unpriced or unknown */
  costUsd: number | null;
  /** false when no model call reported usage */
  usageKnown: boolean;
  /** the run whose turn took this message in, and whose outcome it has (A12) */
  mergedInto: string | null;
  /** who stopped it: `operator` or a session key; set before it ends, and then it ends `aborted` */
  stoppedBy: string | null;
  /** names the call that stopped it (A13), null = the call had no key */
  stopKey: string | null;
  /** what this message may do to the turns around it, null = it has a turn of its own (B12) */
  queueMode: Exclude<QueueMode, 'queue'> | null;
  /** its texts are gone; it is kept for the key of its message, and in no list */
  purgedAt: number | null;
}

/** One lane per session key: strict order, one owner. */
export interface LaneRow {
  sessionKey: string;
  /** boot id of the owner, null = free */
  owner: string | null;
  /** grows at each claim; fences older owners */
  epoch: number;
  /** seq of the next input */
  nextSeq: number;
  /** unfinished runs */
  pending: number;
  /** class of the run to go next */
  headClass: RunClass | null;
  /** run that is claimed, null = none */
  currentRunId: string | null;
  state: SessionState;
  /** since when its head waits; in the future while collected messages wait for quiet */
  readyAt: number;
  /** the topmost session above this one: lanes of one root take turns with others */
  rootKey: string;
  /** its place in the order of claims: `readyAt`, or when its root was served since */
  turnAt: number;
  /** until when collected messages wait for more of them */
  quietUntil: number;
}

export interface ToolCallRow {
  runId: string;
  /** position of the assistant message among the run's assistant messages, from 0 */
  position: number;
  /** index of the call in that message, from 0 */
  callIndex: number;
  callId: string;
  name: string;
  argsJson: string;
  state: 'planned' | 'started' | 'finished';
  /** `ToolResultMessage` as JSON once finished */
  resultJson: string | null;
  startedAt: number | null;
  finishedAt: number | null;
}

/** One call of a model, and what it used. Only what may be billed is here. */
export interface ModelCallRow {
  runId: string;
  /** order in the run, from 0 */
  position: number;
  /** attempt of the step, from 1; more after a crash */
  attempt: number;
  /** `provider/id` that was asked */
  model: string;
  /** `unknown` = its answer, if there was one, is lost: nobody knows whether it was billed */
  outcome: 'ok' | 'error' | 'aborted' | 'unknown';
  /** the model said what it used; else the tokens are 0 and the cost null */
  usageKnown: boolean;
  /** without those of the cache */
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** billionths of a US dollar, null = the model is unpriced, or its usage unknown */
  costNanos: number | null;
  at: number;
}

/** What the runs of a session used of one model on one day. */
export interface UsageDayRow {
  sessionKey: string;
  /** days since 1970-01-01, UTC */
  day: number;
  /** `provider/id` */
  model: string;
  agentId: string;
  rootKey: string;
  calls: number;
  /** of these: nobody knows what they used */
  unknownCalls: number;
  /** of these: what they used is known, and the model has no prices */
  unpricedCalls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** of the calls whose cost is known */
  costNanos: number;
  /** of the calls: they went with their run, the sums keep them */
  purgedCalls: number;
}

/** A run that waits for another run; a call that waits for several has one row for each. */
export interface WaitRow {
  /** stable name of the waiting call: `<runId>:<position>:<callIndex>`, then `:<n>` from its second target on */
  waitId: string;
  waiterRunId: string;
  waiterKey: string;
  targetRunId: string;
  targetKey: string;
  deadlineAt: number;
  state: 'open' | 'done' | 'timeout' | 'interrupted';
  /** the person's message that ended it */
  interruptedBy: string | null;
  createdAt: number;
  endedAt: number | null;
}

/** An agent-to-agent loop after a `sessions_send` (A10). */
export interface ExchangeRow {
  /** is the runId of the primary run */
  exchangeId: string;
  requesterKey: string;
  targetKey: string;
  /** the run that sent; round 2 waits for its end */
  requesterRunId: string;
  rootRunId: string;
  hops: number;
  state: ExchangeState;
  maxTurns: number;
  /** reply-back turns done */
  turns: number;
  requestText: string;
  firstReply: string | null;
  latestReply: string | null;
  endReason: ExchangeEndReason | null;
  /** what went wrong, for `error` */
  endDetail: string | null;
  /** why there is no announce turn, null = there is one, or it is not decided yet */
  noAnnounce: NoAnnounceReason | null;
  createdAt: number;
  endedAt: number | null;
}

/** A child session and what its requester is owed (A16, A18). */
export interface SpawnRow {
  childKey: string;
  /** the child's first run */
  runId: string;
  requesterKey: string;
  requesterRunId: string | null;
  task: string;
  label: string | null;
  cleanup: 'keep' | 'delete';
  announceMode: AnnounceMode;
  archiveAfterMinutes: number;
  /** `Route` as JSON captured at spawn, null = none */
  routeJson: string | null;
  state: 'running' | 'announcing' | 'settled';
  createdAt: number;
  settledAt: number | null;
}

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
  /** sha256 of what an idempotency key of the method `send` stands for, on the first part of its text */
  contentHash: string | null;
  createdAt: number;
  updatedAt: number;
}

/** One change that somebody made by hand; append only, and never with content. */
export interface AuditRow {
  id: string;
  at: number;
  /** `operator`, a device, a session key, `gateway` */
  actor: string;
  /** the method: `deliveries.retry` */
  action: string;
  /** `delivery`, `session`, … */
  subjectKind: string;
  subjectId: string;
  /** the session it is about, null = none */
  sessionKey: string | null;
  /** states and numbers as JSON */
  detailJson: string | null;
}

/** A client that proves who it is with a key of its own, once it was approved. */
export interface DeviceRow {
  /** sha256 of the public key, hex */
  id: string;
  /** Ed25519, base64url of the 32 bytes */
  publicKey: string;
  /** as the client called itself */
  name: string;
  platform: string;
  /** what it was approved for */
  scopesJson: string;
  /** `operator`, a device, `loopback` = by itself, with the shared secret on this machine */
  approvedBy: string;
  approvedAt: number;
  /** sha256 of its token, null = it has none */
  tokenHash: string | null;
  /** null = nobody has shown the token yet */
  tokenUsedAt: number | null;
  lastSeenAt: number | null;
  /** null = it may connect */
  revokedAt: number | null;
}

/** A device that asks to be let in; one request a device. */
export interface PairingRow {
  id: string;
  deviceId: string;
  publicKey: string;
  name: string;
  platform: string;
  /** where it was asked from */
  address: string;
  /** what it asks for */
  scopesJson: string;
  createdAt: number;
  /** no longer open from then on */
  expiresAt: number;
}

/** A gateway that is alive, where several share one database. */
export interface GatewayRow {
  /** boot id, as the owner of lanes */
  id: string;
  /** advisory lock that its session holds while it lives */
  lockKey: number;
  /** who has its jobs locked */
  workerId: string | null;
  heartbeatAt: number;
  /** dead from then on */
  leaseUntil: number;
}

/** Due work: short, idempotent, fenced by domain rows; never runs a turn. */
export interface JobRow {
  jobId: number;
  /** unique among open jobs; a second add with the same key replaces runAt and payload */
  jobKey: string;
  kind: string;
  payloadJson: string;
  runAt: number;
  attempts: number;
  lastError: string | null;
}

/** The address of a chat, as the last route of a session names it. */
export interface SessionChat {
  channel: string;
  to: string;
  accountId: string | null;
  threadId: string | null;
}
