/**
 * The arguments of the session tools as schemas. Texts for the model are in `session-tool-specs.ts`,
 * checking with clear errors in `parse-tool-args.ts`.
 */
import { z } from 'zod';
import { BUDGET_RULE, budgetShape } from '../budget-shape.ts';
import { SESSION_KINDS, THINKING_LEVELS } from '../words.ts';
import {
  LIST_LIMIT_MAX,
  LIST_MESSAGES_MAX,
  HISTORY_LIMIT_MAX,
  SEARCH_LIMIT_MAX,
  INBOX_NOTES_MAX,
  NAME_MAX,
  KEY_MAX,
  CURSOR_MAX,
  WORDS_MAX,
  WAIT_TIMEOUT_MAX,
} from './tool-limits.ts';

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
  sessionKey: optionalName(KEY_MAX),
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
