import type { RequestListener, Server } from 'node:http';
import { GatewayError } from '../protocol/errors.ts';
import type { Logger } from '../util/logger.ts';
import { createServer } from './node-http.ts';

export interface Listening {
  url: string;
  port: number;
}

/**
 * Returns a server that loads its listener with the first plain request: a gateway that is only
 * spoken to by WebSocket never pays for the HTTP door.
 */
export function createHttpServer(load: () => Promise<RequestListener>, logger: Logger): Server {
  let loading: Promise<RequestListener> | undefined;
  return createServer((request, response) => {
    loading ??= load();
    loading.then(
      (listener) => listener(request, response),
      (error: unknown) => {
        logger.error({ err: error }, 'the HTTP door could not be loaded');
        response.writeHead(500).end();
      },
    );
  });
}

/** Opens the port, or rejects with one line that says which one and why. */
export function listenOn(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error) => reject(cannotListen({ host, port, cause }));
    server.once('error', onError);
    server.listen({ host, port }, () => {
      server.off('error', onError);
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      resolve({ port: bound, url: `http://${reachableName(host)}:${bound}` });
    });
  });
}

/** Stops listening and resolves when the last connection is gone; what is left after `graceMs` is cut. */
export function closeServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** An address that listens everywhere is reached on loopback. */
function reachableName(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function cannotListen(at: { host: string; port: number; cause: Error }): GatewayError {
  const { host, port, cause } = at;
  const code = 'code' in cause ? String(cause.code) : cause.message;
  const why =
    code === 'EADDRINUSE'
      ? 'is in use by another program; stop it or choose another --port'
      : `cannot be opened (${code})`;
  return new GatewayError('config', `port ${port} on ${host} ${why}`, { cause });
}
