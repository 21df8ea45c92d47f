/** The parameters of the gateway methods (SPEC B10.4), and those that are documented but not supported yet. */
import { z } from 'zod';
import { OPERATOR_SCOPES } from './scopes.ts';
import { CURSOR_MAX, KEY_MAX, NAME_MAX, WORDS_MAX } from './tools/tool-limits.ts';
import {
  DELIVERY_STATES,
  POLICY_VERBS,
  QUEUE_DROPS,
  QUEUE_MODES,
  RUN_STATES,
  SESSION_KINDS,
  THINKING_LEVELS,
} from './words.ts';

const filled = z.string().regex(/\S/, 'must not be blank');
const atMost = (max: number) => filled.max(max, `must have at most ${max} characters`);
const name = atMost(NAME_MAX);
const key = atMost(KEY_MAX);
const words = atMost(WORDS_MAX);
const flag = z.boolean().exactOptional();
const count = z.int().min(1).exactOptional();
const idempotencyKey = name;
/** characters */
const EXTRA_PROMPT_MAX = 100_000;
const NOTE_LABEL_MAX = 100;
const PREVIEW_KEYS_MAX = 64;
const durationMs = z.number().min(0);

export const healthParams = z.strictObject({ probe: flag });
export const noParams = z.strictObject({});

export const sessionsListParams = z.strictObject({
  limit: count,
  cursor: atMost(CURSOR_MAX).exactOptional(),
  activeMinutes: z.number().gt(0).exactOptional(),
  messageLimit: z.int().min(0).exactOptional(),
  kinds: z.array(z.enum(SESSION_KINDS)).exactOptional(),
  agentId: name.exactOptional(),
  label: name.exactOptional(),
  search: name.exactOptional(),
  spawnedBy: key.exactOptional(),
  state: z.enum(['idle', 'queued', 'running', 'waiting']).exactOptional(),
  archived: flag,
  // taken and without effect (A4)
  includeGlobal: flag,
  includeUnknown: flag,
});

export const sessionsSearchParams = z.strictObject({
  query: name,
  limit: count,
  cursor: atMost(CURSOR_MAX).exactOptional(),
  sessionKey: key.exactOptional(),
});

export const sessionsCreateParams = z.strictObject({
  key: key.exactOptional(),
  clientName: name.exactOptional(),
  agentId: name.exactOptional(),
  displayName: name.exactOptional(),
});

const clearable = name.nullable().exactOptional();
export const sessionsPatchParams = z.strictObject({
  key,
  label: clearable,
  displayName: clearable,
  model: clearable,
  thinkingLevel: z.enum(THINKING_LEVELS).nullable().exactOptional(),
  verboseLevel: clearable,
  reasoningLevel: clearable,
  elevatedLevel: clearable,
  sendPolicy: z.enum(['allow', 'deny']).nullable().exactOptional(),
  queueMode: z.enum(QUEUE_MODES).nullable().exactOptional(),
  queueDebounceMs: z.int().min(0).max(3_600_000).nullable().exactOptional(),
  queueCap: z.int().min(1).max(500).nullable().exactOptional(),
  queueDrop: z.enum(QUEUE_DROPS).nullable().exactOptional(),
});

export const sessionsResetParams = z.strictObject({ key });
export const sessionsDeleteParams = z.strictObject({ key, deleteTranscript: flag });
export const sessionsWindowsParams = z.strictObject({
  key,
  limit: count,
  cursor: atMost(CURSOR_MAX).exactOptional(),
});

export const sessionsGetParams = z
  .strictObject({
    key: key.exactOptional(),
    sessionKey: key.exactOptional(),
    limit: count,
    maxChars: count,
    cursor: atMost(CURSOR_MAX).exactOptional(),
  })
  .refine((given) => (given.key === undefined) !== (given.sessionKey === undefined), {
    path: ['key'],
    message: 'give exactly one of key and sessionKey',
  });
export const sessionsPreviewParams = z.strictObject({
  keys: z.array(key).max(PREVIEW_KEYS_MAX, `must have at most ${PREVIEW_KEYS_MAX} keys`),
  limit: count,
  maxChars: z.int().min(20).exactOptional(),
});
export const sessionsResolveParams = z
  .strictObject({
    key: key.exactOptional(),
    sessionId: key.exactOptional(),
    label: name.exactOptional(),
    agentId: name.exactOptional(),
    spawnedBy: key.exactOptional(),
    // taken and without effect (A4)
    includeGlobal: flag,
    includeUnknown: flag,
  })
  .refine(
    (given) =>
      [given.key, given.sessionId, given.label].filter((one) => one !== undefined).length === 1,
    { path: ['key'], message: 'give exactly one of key, sessionId and label' },
  );
export const sessionsSendParams = z.strictObject({
  key,
  message: words,
  thinking: z.enum(THINKING_LEVELS).exactOptional(),
  timeoutMs: durationMs.exactOptional(),
  idempotencyKey,
});
export const sessionsAbortParams = z
  .strictObject({ key: key.exactOptional(), runId: filled.max(256).exactOptional() })
  .refine((given) => given.key !== undefined || given.runId !== undefined, {
    path: ['key'],
    message: 'give key, runId or both',
  });

export const messagesSubscribeParams = z.strictObject({
  key,
  afterSeq: z
    .union([
      z.int().min(0),
      z.strictObject({ sessionId: z.string().max(NAME_MAX), seq: z.int().min(0) }),
    ])
    .exactOptional(),
});
export const messagesUnsubscribeParams = z.strictObject({ key });

export const chatSendParams = z.strictObject({
  sessionKey: key,
  message: words,
  thinking: z.enum(THINKING_LEVELS).exactOptional(),
  deliver: flag,
  timeoutMs: durationMs.exactOptional(),
  idempotencyKey,
});

export const chatInjectParams = z.strictObject({
  sessionKey: key,
  message: words,
  label: atMost(NOTE_LABEL_MAX).exactOptional(),
  idempotencyKey: idempotencyKey.exactOptional(),
});

export const chatHistoryParams = z.strictObject({
  sessionKey: key,
  limit: count,
  maxChars: count,
});

export const agentParams = z.strictObject({
  message: words,
  agentId: name.exactOptional(),
  sessionKey: key.exactOptional(),
  sessionId: key.exactOptional(),
  to: key.exactOptional(),
  deliver: flag,
  bestEffortDeliver: flag,
  channel: name.exactOptional(),
  accountId: name.exactOptional(),
  threadId: key.exactOptional(),
  thinking: z.enum(THINKING_LEVELS).exactOptional(),
  model: name.exactOptional(),
  /** seconds; limits the run, 0 = no limit */
  timeout: z.number().min(0).exactOptional(),
  label: name.exactOptional(),
  extraSystemPrompt: z
    .string()
    .max(EXTRA_PROMPT_MAX, `must have at most ${EXTRA_PROMPT_MAX} characters`)
    .exactOptional(),
  idempotencyKey,
});

export const agentWaitParams = z.strictObject({
  runId: name,
  timeoutMs: durationMs.default(30_000),
});

const runId = filled.max(256);
export const runsGetParams = z.strictObject({ runId });
export const runsListParams = z.strictObject({
  sessionKey: key.exactOptional(),
  state: z.enum(RUN_STATES).exactOptional(),
  limit: count,
  cursor: atMost(CURSOR_MAX).exactOptional(),
});
export const runsWaitParams = z.strictObject({
  runIds: z.array(runId).exactOptional(),
  sessionKeys: z.array(key).exactOptional(),
  mode: z.enum(['any', 'all']).default('all'),
  timeoutMs: durationMs.default(30_000),
});
export const runsStopParams = z
  .strictObject({ sessionKey: key.exactOptional(), runId: runId.exactOptional() })
  .refine((given) => (given.sessionKey === undefined) !== (given.runId === undefined), {
    path: ['sessionKey'],
    message: 'give exactly one of sessionKey and runId',
  });
export const exchangesGetParams = z
  .strictObject({ exchangeId: runId.exactOptional(), runId: runId.exactOptional() })
  .refine((given) => (given.exchangeId === undefined) !== (given.runId === undefined), {
    path: ['exchangeId'],
    message: 'give exactly one of exchangeId and runId',
  });
export const exchangesListParams = z.strictObject({
  sessionKey: key,
  limit: count,
  cursor: atMost(CURSOR_MAX).exactOptional(),
});
const utcDay = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a day of UTC, YYYY-MM-DD')
  .exactOptional();
export const usageParams = z
  .strictObject({
    sessionKey: key.exactOptional(),
    runId: runId.exactOptional(),
    tree: flag,
    since: utcDay,
    until: utcDay,
    by: z.enum(['session', 'agent', 'model', 'day']).exactOptional(),
    limit: count,
    cursor: atMost(CURSOR_MAX).exactOptional(),
  })
  .refine((given) => given.tree !== true || given.sessionKey !== undefined, {
    path: ['tree'],
    message: 'needs sessionKey: the session whose tree is meant',
  })
  .refine(({ cursor, by }) => cursor === undefined || by !== undefined, {
    path: ['cursor'],
    message: 'needs by: only groups have pages',
  })
  .refine(
    ({ runId: of, by = 'model', ...rest }) =>
      of === undefined || (by === 'model' && Object.keys(rest).length === 0),
    {
      path: ['runId'],
      message: 'goes together with by: "model" alone; a run has no other groups, days or pages',
    },
  );
export const sendParams = z.strictObject({
  to: key,
  message: words,
  channel: name.exactOptional(),
  accountId: name.exactOptional(),
  threadId: key.exactOptional(),
  idempotencyKey,
});
export const deliveriesListParams = z.strictObject({
  states: z
    .array(z.enum([...DELIVERY_STATES, 'retrying']))
    .min(1)
    .exactOptional(),
  sessionKey: key.exactOptional(),
  routeKey: name.exactOptional(),
  limit: count,
  cursor: atMost(CURSOR_MAX).exactOptional(),
});
/** a part's id is made of keys and ids, and of what a caller of `send` chose */
const deliveryId = atMost(2 * KEY_MAX);
export const deliveryParams = z.strictObject({ deliveryId });

export const auditListParams = z.strictObject({
  action: name.exactOptional(),
  sessionKey: key.exactOptional(),
  actor: name.exactOptional(),
  limit: count,
  cursor: atMost(CURSOR_MAX).exactOptional(),
});

/** `view` is taken and without effect: there are configured models, and no others. */
export const modelsListParams = z.strictObject({
  view: z.enum(['default', 'configured', 'provider-config', 'all']).exactOptional(),
});

export const chatAbortParams = z.strictObject({ sessionKey: key, runId: runId.exactOptional() });

export const toolsInvokeParams = z.strictObject({
  tool: atMost(128),
  args: z.record(z.string(), z.unknown()).default({}),
  sessionKey: key.default('main'),
  idempotencyKey: idempotencyKey.exactOptional(),
});

/** Deferred calls of the session that made them. */
export const callsStartParams = z.strictObject({
  ...toolsInvokeParams.shape,
  ttlMs: durationMs.exactOptional(),
});
export const callsGetParams = z.strictObject({
  callId: name,
  sessionKey: key.default('main'),
  timeoutMs: durationMs.default(0),
});
export const callsListParams = z.strictObject({
  sessionKey: key.default('main'),
  limit: count,
  cursor: atMost(CURSOR_MAX).exactOptional(),
});
export const callsCancelParams = z.strictObject({ callId: name, sessionKey: key.default('main') });

export const toolsCatalogParams = z.strictObject({ sessionKey: key.default('main') });

export const policyExplainParams = z.strictObject({
  as: key.exactOptional(),
  verb: z.enum(POLICY_VERBS),
  to: key.exactOptional(),
  label: name.exactOptional(),
  agentId: name.exactOptional(),
  runId: runId.exactOptional(),
  inRun: runId.exactOptional(),
  args: z.record(z.string(), z.unknown()).exactOptional(),
});

export const pairApproveParams = z.strictObject({
  requestId: name,
  scopes: z.array(z.enum(OPERATOR_SCOPES)).max(16).exactOptional(),
});
export const pairRejectParams = z.strictObject({ requestId: name });
export const deviceParams = z.strictObject({ deviceId: name });

const LATER = 'not supported yet; leave it out';

/** Documented parameters that are refused by name (A3), with what to say. */
export const REFUSED_PARAMS: Record<string, Record<string, string>> = {
  connect: {
    commands: LATER,
    permissions: LATER,
  },
  'sessions.list': {
    offset: 'not supported; use cursor',
    includeDerivedTitles: LATER,
    includeLastMessage: 'not supported; use messageLimit: 1',
  },
  'sessions.patch': {
    spawnedBy: 'written once, at the spawn; it cannot be patched',
    spawnDepth: 'written once, at the spawn; it cannot be patched',
  },
  'chat.send': { attachments: LATER },
  'sessions.send': { attachments: LATER },
  agent: {
    lane: LATER,
    replyTo: 'not supported yet; use to',
    spawnedBy: 'written once, by sessions_spawn; it cannot be claimed',
    inputProvenance: 'set by the gateway alone; it cannot be claimed',
    internalEvents: LATER,
    attachments: LATER,
  },
  send: { mediaUrl: LATER },
  'tools.invoke': { action: 'not supported yet; put it into args', dryRun: LATER },
};
