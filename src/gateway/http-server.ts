import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import { GatewayError } from '../protocol/errors.ts';

export interface Listening {
  url: string;
  port: number;
}

export function createHttpServer(app: Hono<{ Bindings: HttpBindings }>): Server {
  // the adaptor makes a plain HTTP/1 server when it is given no other
  return createAdaptorServer({
    fetch: (request, env) => app.fetch(request, env as HttpBindings),
    overrideGlobalObjects: false,
  }) as Server;
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
