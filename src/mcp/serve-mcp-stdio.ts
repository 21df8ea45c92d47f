/** MCP over stdin and stdout, for a harness that starts its servers itself. */
import { once } from 'node:events';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
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

/** Serves one client, and resolves when it has closed stdin. */
export async function serveMcpStdio(options: StdioDoorOptions): Promise<void> {
  const { gateway, sessionKey } = options;
  const ended = once(process.stdin, 'close');
  const served = serveStdio(
    () =>
      createMcpServer({
        ...options,
        isLasting: true,
        sessionOf: (clientName) =>
          gateway.openSession({ name: clientName ?? 'client', sessionKey }),
      }),
    { onerror: options.onError },
  );
  await ended;
  await served.close();
}
