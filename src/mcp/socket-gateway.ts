/** The gateway as a bridge reaches it: over its socket, through lost connections. */
import { randomUUID } from 'node:crypto';
import { connectGateway } from '../client/gateway-client.ts';
import type { GatewayClient } from '../client/gateway-client.ts';
import type { ConnectOptions } from '../client/connect-options.ts';
import { isClientKey } from '../core/keys.ts';
import { INBOX_TOOL } from '../core/tool-names.ts';
import { ERROR_CODES, toGatewayError } from '../protocol/errors.ts';
import type { SessionsInboxAnswer } from '../protocol/tools/inbox-answer.ts';
import type { OfferedTool } from '../protocol/answers/method-answers.ts';
import type { McpGateway } from './mcp-gateway.ts';

/** Calls that were not answered are made again for so long, ms; a gateway restarts within it. */
const PATIENCE_MS = 30_000;
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2000;

/** Returns the gateway behind this address; it connects at the first call. Every call is safe to repeat. */
export function createSocketGateway(
  connect: ConnectOptions,
): McpGateway & { close(): Promise<void> } {
  let client: Promise<GatewayClient> | undefined;
  /** the message in hand, which the client has been told of */
  let shown: string | undefined;

  /** One connection for all calls; a new one once it has ended. */
  function connected(): Promise<GatewayClient> {
    client ??= connectGateway(connect).then(
      (opened) => {
        void opened.closed.then(forget);
        return opened;
      },
      (error: unknown) => {
        forget();
        throw error;
      },
    );
    return client;
  }
  function forget(): void {
    client = undefined;
  }
  async function request<Answer>(method: string, params: object): Promise<Answer> {
    const giveUpAt = performance.now() + PATIENCE_MS;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LAST_PAUSE_MS)) {
      try {
        return await (await connected()).request<Answer>(method, params);
      } catch (cause) {
        const isOver = performance.now() + pauseMs > giveUpAt;
        if (isOver || !ERROR_CODES[toGatewayError(cause).code].retryable) throw cause;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
  return {
    openSession: async ({ name, sessionKey }) => {
      const wanted = sessionKey === undefined ? { clientName: name } : { key: sessionKey };
      return (await request<{ key: string }>('sessions.create', wanted)).key;
    },
    listTools: async (sessionKey) =>
      (await request<{ tools: OfferedTool[] }>('tools.catalog', { sessionKey })).tools,
    invoke: async ({ sessionKey, tool, args }) => {
      // the same key for every attempt: whatever the first one did is found again
      const idempotencyKey = args['idempotencyKey'] ?? randomUUID();
      const call = { tool, args, sessionKey, idempotencyKey };
      return (await request<{ result: object }>('tools.invoke', call)).result;
    },
    takeNews: async (sessionKey) => {
      if (!isClientKey(sessionKey)) return undefined;
      const call = { tool: INBOX_TOOL, args: {}, sessionKey };
      const { result } = await request<{ result: SessionsInboxAnswer }>('tools.invoke', call);
      if (!('messages' in result)) return undefined;
      const [inHand] = result.messages;
      const isNew = inHand !== undefined && inHand.messageId !== shown;
      shown = inHand?.messageId;
      return isNew || result.notes.length > 0 ? result : undefined;
    },
    close: async () => {
      await (await client?.catch(() => undefined))?.close();
    },
  };
}
