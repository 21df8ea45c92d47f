/**
 * The HTTP door on the same port: `GET /healthz`, `GET /readyz` (without credentials, they say only ok
 * or not), `POST /tools/invoke`, `POST /mcp` and `/v1` (bearer).
 */
import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { maskSecrets } from '../core/mask-secrets.ts';
import { ERROR_CODES, GatewayError, toGatewayError } from '../protocol/errors.ts';
import { parseMethodParams } from '../protocol/methods.ts';
import { expandScopes } from '../protocol/scopes.ts';
import type { RunEvents } from '../service/run-events.ts';
import type { Services } from '../service/services.ts';
import type { Logger } from '../util/logger.ts';
import { peerOf } from './auth-limiter.ts';
import type { AuthLimiter, AuthPeer } from './auth-limiter.ts';
import type { SharedSecret } from './authenticate.ts';
import { draining, requireScope } from './dispatch.ts';
import type { HttpEnv } from './http-env.ts';
import { isOfferedOverHttp } from './http-tool-policy.ts';
import type { HttpToolPolicy } from './http-tool-policy.ts';
import { invokeAs } from './invoke-tool.ts';
import type { InvokeTool } from './invoke-tool.ts';
import type { GatewayLimits } from './limits.ts';
import type { RequestHeaders } from './origin-policy.ts';
import { createOpenRequests } from './open-requests.ts';
import type { CountRequest } from './open-requests.ts';
import { routeOpenAi } from './openai/route-openai.ts';
import { parseJson } from './parse-json.ts';
import { hasSecretInQuery, secretInQuery } from './secret-in-query.ts';
import { refuseUnsafeNames } from './unsafe-names.ts';

/** The door of MCP clients; what is behind it is given by whoever builds the gateway. */
export interface McpDoor {
  isOpen(): boolean;
  /** Answers a request that was admitted, given its parsed body. */
  answer(request: Request, body: unknown): Promise<Response>;
}
export interface HttpRouteDeps extends HttpDoorDeps {
  countRequest: CountRequest;
}
export interface HttpDoorDeps {
  services: Services;
  invokeTool: InvokeTool;
  toolPolicy: () => HttpToolPolicy;
  mcp?: McpDoor | undefined;
  events: RunEvents;
  /** whether `/v1` answers */
  isCompletionsOpen: () => boolean;
  /** a device token is no credential here: nothing would prove the device */
  secret: SharedSecret;
  limiter: AuthLimiter;
  limits: GatewayLimits;
  logger: Logger;
  isServing: () => Promise<boolean>;
  isDraining: () => boolean;
  /** why a page or name may not use this gateway */
  refusedOrigin: (headers: RequestHeaders) => string | undefined;
}
type HttpStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 429 | 500 | 503;

/** Returns the listener of plain HTTP requests. */
export function createHttpListener(deps: HttpDoorDeps): RequestListener {
  const countRequest = createOpenRequests(deps.limits.maxHttpRequests);
  const app = createRoutes({ ...deps, countRequest });
  const listen = getRequestListener((request, env) => app.fetch(request, env as HttpBindings), {
    overrideGlobalObjects: false,
  });
  return (incoming, outgoing) => void listen(incoming, outgoing);
}

function createRoutes(deps: HttpRouteDeps): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>();
  app.get('/healthz', (c) => c.json({ ok: true }));
  app.get('/readyz', async (c) => {
    const ok = await deps.isServing();
    return c.json({ ok }, ok ? 200 : 503);
  });
  const limit = bodyLimit({
    maxSize: deps.limits.httpBodyBytes,
    onError: () => {
      throw new GatewayError(
        'too_large',
        `the body is larger than ${deps.limits.httpBodyBytes} bytes`,
      );
    },
  });
  app.post(
    '/tools/invoke',
    async (c, next) => (admit(deps, c), next()),
    limit,
    (c) => invoke(deps, c),
  );
  if (deps.mcp !== undefined) routeMcp(app, { deps, limit, mcp: deps.mcp });
  const door = {
    isOpen: deps.isCompletionsOpen,
    admit: (c: Context<HttpEnv>) => admit(deps, c),
    limit,
    tickIntervalMs: deps.limits.tickIntervalMs,
    readBody: (c: Context<HttpEnv>) => readBody(deps, c),
    toError: (c: Context<HttpEnv>, thrown: unknown) => toError(deps, { thrown, c }),
    notAllowed,
  };
  routeOpenAi(app, { deps, door });
  app.all('/healthz', (c) => notAllowed(c, 'GET'));
  app.all('/readyz', (c) => notAllowed(c, 'GET'));
  app.all('/tools/invoke', (c) => notAllowed(c, 'POST'));
  app.notFound((c) => refuse(c, { status: 404, type: 'not_found', message: 'no such path' }));
  app.onError((thrown, c) => toRefusal(deps, { thrown, c }));
  return app;
}

/** `/mcp`: an older client asks with GET and DELETE for what is not offered here, and takes a 405 for an answer. */
function routeMcp(
  app: Hono<HttpEnv>,
  { deps, limit, mcp }: { deps: HttpRouteDeps; limit: MiddlewareHandler; mcp: McpDoor },
): void {
  app.use('/mcp', async (c, next) => (mcp.isOpen() ? next() : c.notFound()));
  app.post(
    '/mcp',
    async (c, next) => (admit(deps, c), next()),
    limit,
    async (c) => mcp.answer(c.req.raw, await readBody(deps, c)),
  );
  app.all('/mcp', (c) => notAllowed(c, 'POST'));
}

/** Everything that is judged before the body is read. */
function admit(deps: HttpRouteDeps, c: Context<HttpEnv>): void {
  const peer = peerOf(c.env.incoming);
  const refused = deps.refusedOrigin({ origin: peer.origin, host: c.req.header('host') });
  if (refused !== undefined) throw new GatewayError('forbidden', refused);
  if (hasSecretInQuery(c.req.url)) throw secretInQuery();
  deps.limiter.check(peer);
  requireScope('tools.invoke', heldScopes(deps, { c, peer }));
  if (deps.isDraining()) throw draining();
  deps.countRequest(c.env.outgoing);
}

function heldScopes(deps: HttpRouteDeps, { c, peer }: { c: Context<HttpEnv>; peer: AuthPeer }) {
  const secret = /^Bearer +(.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  try {
    return expandScopes(deps.secret.check({ token: secret, password: secret }));
  } catch (error) {
    deps.limiter.fail(peer);
    throw error;
  }
}

async function readBody(deps: HttpRouteDeps, c: Context<HttpEnv>): Promise<unknown> {
  const text = await c.req.text();
  const body = parseJson(text, deps.limits.maxJsonDepth);
  refuseUnsafeNames(body, text);
  return body;
}

async function invoke(deps: HttpRouteDeps, c: Context<HttpEnv>): Promise<Response> {
  const body = await readBody(deps, c);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError(
      'invalid_request',
      'the body must be an object {tool, args?, sessionKey?}',
    );
  const params = parseMethodParams('tools.invoke', { ...body });
  if (!isOfferedOverHttp(params.tool, deps.toolPolicy()))
    throw new GatewayError(
      'unknown_name',
      `the tool ${params.tool} is not offered over HTTP; gateway.tools.allow can open it`,
    );
  return c.json({ ok: true, result: await invokeAs(deps, { ...params, gone: c.req.raw.signal }) });
}

/** The one place where this door judges what was thrown: the cause of a fault goes to the log. */
function toError(
  deps: HttpRouteDeps,
  { thrown, c }: { thrown: unknown; c: Context<HttpEnv> },
): GatewayError {
  const error = toGatewayError(thrown);
  if (error.code === 'internal')
    deps.logger.error({ err: thrown, path: c.req.path }, 'request failed');
  return error;
}

function toRefusal(
  deps: HttpRouteDeps,
  { thrown, c }: { thrown: unknown; c: Context<HttpEnv> },
): Response {
  const error = toError(deps, { thrown, c });
  const retryAfterMs = error.details?.['retryAfterMs'];
  if (typeof retryAfterMs === 'number')
    c.header('Retry-After', String(Math.ceil(retryAfterMs / 1000)));
  if (error.code === 'unauthorized') c.header('WWW-Authenticate', 'Bearer');
  // a body that nobody will read makes the connection useless for the next call
  if (!c.req.raw.bodyUsed) c.header('Connection', 'close');
  const isRateLimited = error.details?.['code'] === 'AUTH_RATE_LIMITED';
  return refuse(c, {
    status: isRateLimited ? 429 : ERROR_CODES[error.code].httpStatus,
    type: isRateLimited ? 'rate_limited' : error.code,
    message: maskSecrets(error.message),
  });
}

function notAllowed(c: Context<HttpEnv>, allow: string): Response {
  c.header('Allow', allow);
  const message = `${c.req.path} takes ${allow} only`;
  return refuse(c, { status: 405, type: 'method_not_allowed', message });
}

function refuse(
  c: Context<HttpEnv>,
  { status, type, message }: { status: HttpStatus; type: string; message: string },
): Response {
  return c.json({ ok: false, error: { type, message } }, status);
}
