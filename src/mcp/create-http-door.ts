/** MCP over streamable HTTP: one request, one answer; nothing is remembered between them. */
import { createMcpHandler, isInitializeRequest } from '@modelcontextprotocol/server';
import type { Logger } from '../util/logger.ts';
import { CONNECTION_HEADER, connectionIdOf, identityOf } from './client-identity.ts';
import { createMcpServer } from './create-mcp-server.ts';
import type { McpGateway } from './mcp-gateway.ts';

export interface HttpDoorOptions {
  gateway: McpGateway;
  version: string;
  maxWaitSeconds: () => number;
  logger: Logger;
}
/** Answers a request that was admitted; `body` is its parsed JSON, undefined when it has none. */
export type McpHttpDoor = (request: Request, body: unknown) => Promise<Response>;

/** Returns the handler behind `/mcp`. */
export function createMcpHttpDoor(options: HttpDoorOptions): McpHttpDoor {
  const { gateway, version, logger } = options;
  const handler = createMcpHandler(
    // the session was opened before; the library only carries it through
    ({ authInfo }) =>
      createMcpServer({
        gateway,
        version,
        maxWaitSeconds: options.maxWaitSeconds(),
        sessionOf: () => Promise.resolve(authInfo?.clientId ?? ''),
      }),
    { onerror: (err) => logger.debug({ err }, 'an MCP request failed') },
  );
  return async (request, body) => {
    const sessionKey = await gateway.openSession(identityOf(request.headers, body));
    const authInfo = { token: '', clientId: sessionKey, scopes: [] };
    const response = await handler.fetch(request, { authInfo, parsedBody: body });
    if (isInitializeRequest(body))
      response.headers.set(CONNECTION_HEADER, connectionIdOf(sessionKey));
    return response;
  };
}
