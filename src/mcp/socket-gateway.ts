/** The gateway as a bridge reaches it: over its socket, through lost connections and restarts. */
import { randomUUID } from 'node:crypto';
import type { Client } from '../client/create-client.ts';
import { isClientKey } from '../core/keys.ts';
import { INBOX_TOOL } from '../core/tool-names.ts';
import type { SessionsInboxAnswer } from '../protocol/tools/inbox-answer.ts';
import type { McpGateway } from './mcp-gateway.ts';

/** Returns the gateway behind this client. Every call is safe to repeat, so that the client may send it again. */
export function createSocketGateway(client: Pick<Client, 'call'>): McpGateway {
  /** the message in hand, which the harness has been told of */
  let shown: string | undefined;
  return {
    openSession: async ({ name, sessionKey }) => {
      const wanted = sessionKey === undefined ? { clientName: name } : { key: sessionKey };
      return (await client.call('sessions.create', wanted)).key;
    },
    listTools: async (sessionKey) => (await client.call('tools.catalog', { sessionKey })).tools,
    invoke: async ({ sessionKey, tool, args }) => {
      const call = { tool, args, sessionKey, idempotencyKey: keyOf(args) };
      return (await client.call('tools.invoke', call)).result as object;
    },
    startCall: async ({ sessionKey, tool, args, ttlMs }) => {
      const asked = ttlMs === undefined ? {} : { ttlMs };
      const call = { tool, args, sessionKey, idempotencyKey: keyOf(args), ...asked };
      const { ok: _ok, ...started } = await client.call('calls.start', call);
      return started;
    },
    readCall: ({ signal: _signal, ...query }) => client.call('calls.get', query),
    listCalls: ({ sessionKey, cursor }) =>
      client.call('calls.list', { sessionKey, ...(cursor === undefined ? {} : { cursor }) }),
    cancelCall: async (call) => (await client.call('calls.cancel', call)).call,
    takeNews: async (sessionKey) => {
      if (!isClientKey(sessionKey)) return undefined;
      const call = { tool: INBOX_TOOL, args: {}, sessionKey };
      const { result } = await client.call('tools.invoke', call);
      const inbox = result as SessionsInboxAnswer;
      if (!('messages' in inbox)) return undefined;
      const [inHand] = inbox.messages;
      const isNew = inHand !== undefined && inHand.messageId !== shown;
      shown = inHand?.messageId;
      return isNew || inbox.notes.length > 0 ? inbox : undefined;
    },
  };
}

/** The same for every attempt: whatever the first one did is found again. */
function keyOf(args: Record<string, unknown>): string {
  const given = args['idempotencyKey'];
  return typeof given === 'string' ? given : randomUUID();
}
