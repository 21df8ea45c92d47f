/**
 * The answers of the session tools as schemas, for doors that publish them (MCP's `outputSchema`). Loose: an
 * answer may grow. Every field is optional, as a refusal `{status, error}` is an answer, too.
 */
import { z } from 'zod';
import type { SessionToolName } from './session-tools.ts';

const text = () => z.string().optional();
const count = () => z.number().optional();
const flag = () => z.boolean().optional();
const listOf = (fields: z.ZodRawShape) => z.array(z.looseObject(fields)).optional();
const textList = () => z.array(z.string()).optional();

/** What a page of any list says beside its rows. */
const page = { limitApplied: count(), hasMore: flag(), nextCursor: text() };

/** A refusal, or an answer with these fields. */
function answerWith(status: readonly string[], fields: z.ZodRawShape): z.ZodObject {
  return z.looseObject({
    ...fields,
    status: z.enum([...status, 'error', 'forbidden']).optional(),
    error: z.string().optional().describe('what was wrong and what to do next'),
  });
}

const run = { runId: z.string(), sessionKey: z.string() };

/** Schema of the answer of each tool. */
export const SESSION_TOOL_ANSWERS: Record<SessionToolName, z.ZodObject> = {
  sessions_list: answerWith([], {
    sessions: listOf({
      key: z.string(),
      kind: z.string(),
      channel: z.string(),
      agentId: z.string(),
      sessionId: z.string(),
      state: z.string(),
      updatedAt: z.number(),
      label: text(),
    }),
    count: count(),
    ...page,
  }),
  sessions_history: answerWith([], {
    sessionKey: text(),
    sessionId: text(),
    messages: listOf({ role: z.string() }),
    pending: listOf({ runId: z.string(), message: z.string() }),
    truncated: flag(),
    ...page,
  }),
  sessions_send: answerWith(['accepted', 'ok', 'timeout'], {
    runId: text(),
    sessionKey: text(),
    messageState: text(),
    outcome: text(),
    reply: text(),
    note: text(),
  }),
  sessions_spawn: answerWith(['accepted'], {
    runId: text(),
    childSessionKey: text(),
    mode: text(),
    modelApplied: text(),
    note: text(),
  }),
  agents_list: answerWith([], {
    requester: text(),
    allowAny: flag(),
    agents: listOf({ id: z.string(), name: text(), configured: z.boolean() }),
  }),
  sessions_wait: answerWith(['ok', 'partial', 'timeout'], {
    done: listOf({ ...run, status: z.string(), reply: text(), error: text() }),
    pending: listOf({ ...run, messageState: z.string() }),
    note: text(),
  }),
  sessions_stop: answerWith(['ok'], { stopped: textList() }),
  sessions_inbox: answerWith([], {
    messages: listOf({
      messageId: z.string(),
      from: z.looseObject({}),
      text: z.string(),
      acceptedAt: z.number(),
    }),
    notes: listOf({ text: z.string() }),
    waiting: count(),
    replied: z.looseObject({ messageId: z.string(), status: z.string() }).optional(),
  }),
  sessions_search: answerWith([], {
    hits: listOf({
      sessionKey: z.string(),
      sessionId: z.string(),
      seq: z.number(),
      role: z.string(),
      snippet: z.string(),
    }),
    ...page,
  }),
};
