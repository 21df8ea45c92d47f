/** MCP over streamable HTTP: one request, one answer; nothing is remembered between them. */
import { createMcpHandler, isInitializeRequest } from '@modelcontextprotocol/server';
import type { Logger } from '../util/logger.ts';
import { CONNECTION_HEADER, connectionIdOf, identityOf } from './client-identity.ts';
import { createMcpServer, type McpServerOptions } from './create-mcp-server.ts';
import type { McpGateway } from './mcp-gateway.ts';

export interface HttpDoorOptions {
  gateway: McpGateway;
  version: string;
  maxWaitSeconds: () => number;
  logger: Logger;
  /** as of a server: more than the gateway has */
  extend?: McpServerOptions['extend'];
}
/** Answers a request that was admitted; `body` is its parsed JSON, undefined when it has none. */
export type McpHttpDoor = (request: Request, body: unknown) => Promise<Response>;

/** Carried through the library with a request: opens the session of its sender. */
type OpenSession = () => Promise<string>;

/** Returns the handler behind `/mcp`. A session is opened for whoever introduces itself or asks for something. */
export function createMcpHttpDoor(options: HttpDoorOptions): McpHttpDoor {
  const { gateway, version, logger, extend } = options;
  const handler = createMcpHandler(
    ({ authInfo }) =>
      createMcpServer({
        gateway,
        version,
        maxWaitSeconds: options.maxWaitSeconds(),
        extend,
        sessionOf: authInfo?.extra?.['openSession'] as OpenSession,
      }),
    { onerror: (err) => logger.debug({ err }, 'an MCP request failed') },
  );
  return async (request, body) => {
    const identity = identityOf(request.headers, body);
    const openSession: OpenSession = () => gateway.openSession(identity);
    const isNew = isInitializeRequest(body);
    const sessionKey = isNew ? await openSession() : undefined;
    const authInfo = { token: '', clientId: identity.name, scopes: [], extra: { openSession } };
    const response = await handler.fetch(request, { authInfo, parsedBody: body });
    if (sessionKey !== undefined)
      response.headers.set(CONNECTION_HEADER, connectionIdOf(sessionKey));
    return response;
  };
}
