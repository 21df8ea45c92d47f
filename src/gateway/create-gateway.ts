import type { RunEvents } from '../service/run-events.ts';
import type { Services } from '../service/services.ts';
import { systemClock } from '../util/clock.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { createAuthLimiter } from './auth-limiter.ts';
import { createAuthenticate } from './authenticate.ts';
import type { GatewayAuth } from './authenticate.ts';
import { Connection } from './connection.ts';
import type { ConnectionDeps } from './connection.ts';
import { createDispatch } from './dispatch.ts';
import { closeServer, createHttpServer, listenOn } from './http-server.ts';
import type { Listening } from './http-server.ts';
import type { HttpToolPolicy } from './http-tool-policy.ts';
import type { InvokeTool } from './invoke-tool.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import type { GatewayLimits } from './limits.ts';
import { refusedOrigin } from './origin-policy.ts';
import { createSubscriptions } from './subscriptions.ts';
import { createUpgrade } from './upgrade.ts';

export interface GatewayOptions {
  services: Services;
  events: RunEvents;
  invokeTool: InvokeTool;
  auth: GatewayAuth;
  host: string;
  /** 0 = any free port */
  port: number;
  logger: Logger;
  health: {
    isReady(): boolean;
    /** Resolves whether the store answers; must not reject. */
    probe(): Promise<boolean>;
  };
  /** pages that may connect, as `https://console.example`; loopback pages of our own port always may */
  allowedOrigins?: readonly string[] | undefined;
  /** `gateway.tools`: what the HTTP door offers */
  toolPolicy?: HttpToolPolicy | undefined;
  limits?: Partial<GatewayLimits> | undefined;
  clock?: Clock | undefined;
  /** shown to clients */
  version?: string | undefined;
}
export interface Gateway {
  /** Opens the port. Contract: called when everything behind it accepts calls. */
  listen(): Promise<Listening>;
  /** Refuses new work and new connections, tells the clients and closes their sockets (1012). */
  drain(reason: string): void;
  /** Ends what is left and resolves when the port is free. May be called twice. */
  close(): Promise<void>;
}

/** ms that running HTTP calls have to end at `close` */
const CLOSE_GRACE_MS = 2000;

/** Returns the door for the WebSocket protocol and HTTP on one port; nothing is open before `listen`. */
export function createGateway(options: GatewayOptions): Gateway {
  const { services, events, invokeTool, logger, host } = options;
  const clock = options.clock ?? systemClock;
  const version = options.version ?? 'dev';
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const authenticate = createAuthenticate(options.auth);
  const limiter = createAuthLimiter(limits, clock);
  const subscriptions = createSubscriptions(events, clock);
  const connections = new Set<Connection>();
  let port = options.port;
  let isGone = false;
  let ticker: NodeJS.Timeout | undefined;

  const isReady = () => options.health.isReady();
  const isServing = async () => isReady() && !isGone && (await options.health.probe());
  const isDraining = () => isGone;
  const judgeOrigin = (headers: { origin?: string | undefined; host?: string | undefined }) =>
    refusedOrigin(headers, { host, port, allowedOrigins: options.allowedOrigins ?? [] });
  const shared = { authenticate, limiter, limits, logger, clock, isReady, isServing, isDraining };
  const connectionDeps: ConnectionDeps = {
    ...shared,
    dispatch: createDispatch({ services, invokeTool, version, clock, isServing, isDraining }),
    version,
    startedAt: clock.now(),
    onWatcher: (watcher) => subscriptions.add(watcher),
    onGone: (connection, watcher) => {
      connections.delete(connection);
      if (watcher !== undefined) subscriptions.remove(watcher);
    },
  };
  const doors = { ...shared, refusedOrigin: judgeOrigin };
  const toolPolicy = options.toolPolicy ?? {};
  const server = createHttpServer(async () => {
    const { createHttpListener } = await import('./http-routes.ts');
    return createHttpListener({ ...doors, services, invokeTool, toolPolicy });
  }, logger);
  const upgrade = createUpgrade({
    ...doors,
    connections: () => connections.size,
    onSocket: (socket, { peer, transport }) => {
      const connection = new Connection(socket, { deps: connectionDeps, peer });
      connections.add(connection);
      transport.on('data', (chunk: Buffer) => connection.countBytes(chunk.length));
    },
  });
  server.on('upgrade', upgrade);

  return {
    listen: async () => {
      const listening = await listenOn(server, { host, port });
      port = listening.port;
      ticker = setInterval(() => {
        for (const connection of connections) connection.tick();
      }, limits.tickIntervalMs);
      return listening;
    },
    drain: (reason) => {
      isGone = true;
      for (const connection of connections) connection.shutDown(reason);
    },
    close: async () => {
      isGone = true;
      clearInterval(ticker);
      subscriptions.close();
      for (const connection of connections) connection.terminate();
      await closeServer(server, CLOSE_GRACE_MS);
    },
  };
}
