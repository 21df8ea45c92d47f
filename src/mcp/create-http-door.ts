/** MCP over streamable HTTP: one request, one answer; nothing is remembered between them. */
import { createMcpHandler, isInitializeRequest } from '@modelcontextprotocol/server';
import { GatewayError } from '../protocol/errors.ts';
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
    if (Array.isArray(body)) throw noBatches();
    const identity = identityOf(request.headers, body);
    const openSession: OpenSession = () => gateway.openSession(identity);
    const authInfo = { token: '', clientId: identity.name, scopes: [], extra: { openSession } };
    const response = await handler.fetch(request, { authInfo, parsedBody: body });
    if (!response.ok || !isInitializeRequest(body)) return response;
    // what the protocol refuses has made no session
    const sessionKey = await openSession().catch(async (error: unknown) => {
      await response.body?.cancel();
      throw error;
    });
    response.headers.set(CONNECTION_HEADER, connectionIdOf(sessionKey));
    return response;
  };
}

/** One body with many calls would pass the bounds of a request. */
function noBatches(): GatewayError {
  const message = 'the body is a batch, which MCP no longer has; send one message per request';
  return new GatewayError('invalid_request', message);
}
