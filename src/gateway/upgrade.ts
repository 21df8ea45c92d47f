import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { maskSecrets } from '../core/mask-secrets.ts';
import { ERROR_CODES, GatewayError, toGatewayError } from '../protocol/errors.ts';
import { peerOf } from './auth-limiter.ts';
import type { AuthLimiter, AuthPeer } from './auth-limiter.ts';
import { draining } from './dispatch.ts';
import type { GatewayLimits } from './limits.ts';
import type { RequestHeaders } from './origin-policy.ts';
import { STATUS_CODES } from './node-http.ts';
import { hasSecretInQuery, secretInQuery } from './secret-in-query.ts';

export interface UpgradeDeps {
  limits: GatewayLimits;
  limiter: AuthLimiter;
  refusedOrigin: (headers: RequestHeaders) => string | undefined;
  isDraining: () => boolean;
  connections: () => number;
  onSocket: (socket: WebSocket, opened: { peer: AuthPeer; transport: Duplex }) => void;
}

/** ms that a closing socket may take before it is cut */
const CLOSE_TIMEOUT_MS = 1000;

/** Returns the listener of `upgrade` requests: it refuses with an HTTP status, or opens a WebSocket. */
export function createUpgrade(
  deps: UpgradeDeps,
): (request: IncomingMessage, transport: Duplex, head: Buffer) => void {
  // a variable, because the published types of ws lack `closeTimeout`
  const options = {
    noServer: true,
    clientTracking: false,
    maxPayload: deps.limits.maxPayloadBytes,
    closeTimeout: CLOSE_TIMEOUT_MS,
  };
  const server = new WebSocketServer(options);
  return (request, transport, head) => {
    transport.on('error', () => transport.destroy());
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') return refuseProtocol(transport);
    const peer = peerOf(request);
    try {
      admit(deps, { request, peer });
    } catch (error) {
      return refuse(transport, toGatewayError(error));
    }
    server.handleUpgrade(request, transport, head, (socket) =>
      deps.onSocket(socket, { peer, transport }),
    );
  };
}

function admit(
  deps: UpgradeDeps,
  { request, peer }: { request: IncomingMessage; peer: AuthPeer },
): void {
  deps.limiter.check(peer);
  const refused = deps.refusedOrigin({ origin: peer.origin, host: request.headers.host });
  if (refused !== undefined) {
    deps.limiter.fail(peer);
    throw new GatewayError('forbidden', refused);
  }
  const path = (request.url ?? '/').split('?', 1)[0];
  if (path !== '/') throw new GatewayError('not_found', 'the WebSocket is at /');
  if (hasSecretInQuery(request.url ?? '')) throw secretInQuery();
  if (deps.isDraining()) throw draining();
  if (deps.connections() >= deps.limits.maxConnections)
    throw new GatewayError('unavailable', 'too many connections; try again in a moment');
}

function refuse(transport: Duplex, error: GatewayError): void {
  const isRateLimited = error.details?.['code'] === 'AUTH_RATE_LIMITED';
  const status = isRateLimited ? 429 : ERROR_CODES[error.code].httpStatus;
  const type = isRateLimited ? 'rate_limited' : error.code;
  const retryAfterMs = error.details?.['retryAfterMs'];
  const headers =
    typeof retryAfterMs === 'number' ? [`Retry-After: ${Math.ceil(retryAfterMs / 1000)}`] : [];
  end(transport, { status, type, message: maskSecrets(error.message), headers });
}

/** Any `Upgrade` header brings a request here, `h2c` of an HTTP client too. */
function refuseProtocol(transport: Duplex): void {
  end(transport, {
    status: 426,
    type: 'upgrade_required',
    message: 'WebSocket is the only upgrade here; leave the Upgrade header out for plain HTTP/1.1',
    headers: ['Upgrade: websocket'],
  });
}

function end(
  transport: Duplex,
  answer: { status: number; type: string; message: string; headers: string[] },
): void {
  const { status, type, message, headers } = answer;
  const body = JSON.stringify({ ok: false, error: { type, message } });
  transport.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Connection: close',
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...headers,
      '',
      body,
    ].join('\r\n'),
  );
}
