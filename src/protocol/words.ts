/**
 * The closed word lists that cross every boundary: session kinds, channels, run states, levels.
 * One word per concept in code, SQL, logs and docs.
 */

export const SESSION_KINDS = ['main', 'group', 'cron', 'hook', 'node', 'other'] as const;
/** What a session is for, derived from its key (SPEC B2.4). */
export type SessionKind = (typeof SESSION_KINDS)[number];

export const CHANNELS = [
  'whatsapp',
  'telegram',
  'discord',
  'signal',
  'imessage',
  'webchat',
  'internal',
  'unknown',
] as const;
/** Where a session's chat lives. An imported session of another channel shows its id (A4), so this is open. */
export type Channel = (typeof CHANNELS)[number] | (string & {});

export const CHAT_TYPES = ['direct', 'group', 'channel'] as const;
export type ChatType = (typeof CHAT_TYPES)[number];

export const THINKING_LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export const RUN_STATES = [
  'queued',
  'running',
  'waiting',
  'ok',
  'error',
  'timeout',
  'aborted',
] as const;
/** The one lifecycle of every accepted message (A12): `queued → running ⇄ waiting → ok | error | timeout | aborted`. */
export type RunState = (typeof RUN_STATES)[number];
export type RunOutcome = Extract<RunState, 'ok' | 'error' | 'timeout' | 'aborted'>;

/** Of the runs that are played here. */
export const RUN_CLASSES = ['main', 'subagent', 'cron', 'nested'] as const;
/**
 * The pool of concurrency slots a run takes from (B12). What waits in a client's `inbox` is played by
 * nobody here: it takes no slot, and no claim looks for it.
 */
export type RunClass = (typeof RUN_CLASSES)[number] | 'inbox';

/** What a session is doing now, as `sessions_list` shows it (A7). */
export type SessionState = 'idle' | 'queued' | 'running' | 'waiting';

export const VISIBILITY_LEVELS = ['self', 'tree', 'agent', 'all'] as const;
export type VisibilityLevel = (typeof VISIBILITY_LEVELS)[number];

export const QUEUE_MODES = [
  'steer',
  'followup',
  'collect',
  'steer-backlog',
  'interrupt',
  'queue',
] as const;
/** What a person's message into a busy session does (B12); `queue` is another word for `steer`. */
export type QueueMode = (typeof QUEUE_MODES)[number];

export const QUEUE_DROPS = ['old', 'new', 'summarize'] as const;
/** What gives way when more messages would wait than the cap allows (B12). */
export type QueueDrop = (typeof QUEUE_DROPS)[number];

export type SendPolicyAction = 'allow' | 'deny';

/** Why an exchange ended (A10). */
export const EXCHANGE_END_REASONS = [
  'reply_skip',
  'max_turns',
  'empty',
  'error',
  'no_runtime',
  'superseded',
] as const;
export type ExchangeEndReason = (typeof EXCHANGE_END_REASONS)[number];

/** Where an exchange is (A10). */
export type ExchangeState =
  /** the primary run has not ended */
  | 'primary'
  /** the next turn is due */
  | 'due'
  /** a turn is queued or running */
  | 'turn'
  /** the announce turn is queued or running */
  | 'announce'
  | 'done';

export const NO_ANNOUNCE_REASONS = [
  'no_reply',
  'no_route',
  'no_channel',
  'no_runtime',
  'session_gone',
  'session_archived',
  'stopped',
  'superseded',
] as const;
/** Why an exchange has no announce turn: its words could go nowhere (A10). */
export type NoAnnounceReason = (typeof NO_ANNOUNCE_REASONS)[number];

/** How a child's outcome reaches its requester (A18). */
export const ANNOUNCE_MODES = ['post', 'relay', 'template', 'silent'] as const;
export type AnnounceMode = (typeof ANNOUNCE_MODES)[number];
/** The Status line of an announce; it comes from the runtime, never from model text (A18). */
export type AnnounceStatus = 'success' | 'error' | 'timeout' | 'unknown';

export const DELIVERY_STATES = [
  'queued',
  'sending',
  'sent',
  'failed',
  'suppressed',
  'unknown',
  'dropped',
] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A chat address: where a reply goes. */
export interface Route {
  channel: string;
  to?: string;
  accountId?: string;
  threadId?: string;
}

export const POLICY_VERBS = [
  'list',
  'read',
  'search',
  'send',
  'spawn',
  'stop',
  'wait',
  'ask',
  'exchange',
  'message',
] as const;
/** What `policy.explain` is asked about: a session tool, `exchange` (does one follow a send?) or `message` (`chat.send` by the operator). */
export type PolicyVerb = (typeof POLICY_VERBS)[number];

export const CALL_STATES = ['working', 'completed', 'failed', 'cancelled'] as const;
/** How a deferred call stands; `failed` = its tool has answered with an error. */
export type CallState = (typeof CALL_STATES)[number];
