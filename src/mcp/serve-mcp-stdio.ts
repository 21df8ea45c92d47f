/** MCP over stdin and stdout, for a harness that starts its servers itself. */
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { GatewayError } from '../protocol/errors.ts';
import { createMcpServer } from './create-mcp-server.ts';
import type { McpGateway } from './mcp-gateway.ts';

export interface StdioDoorOptions {
  gateway: McpGateway;
  version: string;
  maxWaitSeconds: number;
  /** the session to act as; one named after the client when absent */
  sessionKey?: string | undefined;
  onError: (error: Error) => void;
}

/** Serves one client, and resolves when it has closed stdin. Rejects `invalid_request` when it can be served no more before that. */
export async function serveMcpStdio(options: StdioDoorOptions): Promise<void> {
  const { gateway, sessionKey } = options;
  const transport = new EndingTransport();
  serveStdio(
    () =>
      createMcpServer({
        ...options,
        sessionOf: (clientName) =>
          gateway.openSession({ name: clientName ?? 'client', sessionKey }),
      }),
    { transport, onerror: options.onError },
  );
  await transport.ended;
  const { readableEnded, destroyed } = process.stdin;
  // the library has stopped reading: a harness that is left with it would wait for every answer
  if (!readableEnded && !destroyed)
    throw new GatewayError('invalid_request', 'the client on stdin is served no more; start again');
}

/** The library's own transport, which also says when it has ended, by either side. */
class EndingTransport extends StdioServerTransport {
  readonly #ended = Promise.withResolvers<void>();
  readonly ended = this.#ended.promise;

  override async close(): Promise<void> {
    await super.close();
    this.#ended.resolve();
  }
}
