import type { RunEvents } from '../service/run-events.ts';
import type { Services } from '../service/services.ts';
import { systemClock } from '../util/clock.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { createAuthLimiter } from './auth-limiter.ts';
import { Connection } from './connection.ts';
import type { ConnectionDeps } from './connection.ts';
import { watchDevices } from './device-events.ts';
import { createDispatch } from './dispatch.ts';
import type { ReloadConfig } from './dispatch.ts';
import { createDoorSettings } from './door-settings.ts';
import type { GatewaySettings } from './door-settings.ts';
import { closeServer, createHttpServer, listenOn } from './http-server.ts';
import type { Listening } from './http-server.ts';
import type { McpDoor } from './http-routes.ts';
import type { InvokeTool, ListTools, StartCall } from './invoke-tool.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import type { GatewayLimits } from './limits.ts';
import type { RequestHeaders } from './origin-policy.ts';
import { createMessageFeeds } from './message-feeds.ts';
import { createSubscriptions } from './subscriptions.ts';
import { createToldPresence } from './tell-presence.ts';
import { createUpgrade } from './upgrade.ts';

export interface GatewayOptions extends GatewaySettings {
  services: Services;
  events: RunEvents;
  invokeTool: InvokeTool;
  listTools: ListTools;
  startCall: StartCall;
  /** what answers `/mcp`; absent = no such path */
  mcp?: McpDoor | undefined;
  reloadConfig: ReloadConfig;
  host: string;
  /** 0 = any free port */
  port: number;
  logger: Logger;
  health: {
    isReady(): boolean;
    /** Resolves whether the store answers; must not reject. */
    probe(): Promise<boolean>;
  };
  limits?: Partial<GatewayLimits> | undefined;
  clock?: Clock | undefined;
  /** shown to clients */
  version?: string | undefined;
}
export interface Gateway {
  /** Opens the port. Contract: called when everything behind it accepts calls. */
  listen(): Promise<Listening>;
  /**
   * Applies other settings to what comes from now on. With another secret, or another mode, the sockets
   * that the old one opened are closed (1008); those of devices with tokens of their own stay.
   */
  reconfigure(settings: GatewaySettings): void;
  /** Refuses new work and new connections, tells the clients and closes their sockets (1012). */
  drain(reason: string): void;
  /** Ends what is left and resolves when the port is free. May be called twice. */
  close(): Promise<void>;
}

/** ms that running HTTP calls have to end at `close` */
const CLOSE_GRACE_MS = 2000;

/** Returns the door for the WebSocket protocol and HTTP on one port; nothing is open before `listen`. */
export function createGateway(options: GatewayOptions): Gateway {
  const { services, events, invokeTool, listTools, startCall, logger, host } = options;
  const clock = options.clock ?? systemClock;
  const version = options.version ?? 'dev';
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const settings = createDoorSettings(options);
  const { secret } = settings;
  const limiter = createAuthLimiter(settings.rateLimit, clock);
  const subscriptions = createSubscriptions(events, clock);
  const { maxFeeds } = limits;
  const feeds = createMessageFeeds({ services, events, logger, maxFeeds });
  const connections = new Set<Connection>();
  const intervalMs = limits.presenceIntervalMs;
  const presence = createToldPresence({ clock, version, host, connections, intervalMs });
  let port = options.port;
  let ticker: NodeJS.Timeout | undefined;

  const { end, ...serving } = createServing(options.health);
  const refusedOrigin = (headers: RequestHeaders) =>
    settings.refusedOrigin(headers, { host, port });
  const given = { services, invokeTool, listTools, startCall, logger, clock, version };
  const shared = { ...given, ...serving, secret, limiter, limits };
  const connectionDeps: ConnectionDeps = {
    ...shared,
    dispatch: createDispatch({ ...shared, presence, reloadConfig: options.reloadConfig }),
    feeds,
    presence,
    startedAt: clock.now(),
    onWatcher: (watcher) => subscriptions.add(watcher),
    onGone: (connection, watcher) => {
      connections.delete(connection);
      if (watcher !== undefined) subscriptions.remove(watcher);
    },
  };
  const doors = { ...shared, ...settings, events, refusedOrigin, mcp: options.mcp };
  const stopDevices = watchDevices(events, { connections, clock });
  const server = createHttpServer(async () => {
    const { createHttpListener } = await import('./http-routes.ts');
    return createHttpListener(doors);
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
    reconfigure: (next) => {
      if (!settings.replace(next)) return;
      // after the answer to the one that asked for it
      setImmediate(() => connections.forEach((connection) => connection.closeOutdated()));
    },
    drain: (reason) => {
      end();
      for (const connection of connections) connection.shutDown(reason);
    },
    close: async () => {
      end();
      clearInterval(ticker);
      subscriptions.close();
      presence.close();
      feeds.close();
      stopDevices();
      for (const connection of connections) connection.terminate();
      await closeServer(server, CLOSE_GRACE_MS);
    },
  };
}

/** Says how far the gateway takes calls: ready once everything is, until `end`. */
function createServing(health: GatewayOptions['health']) {
  let isGone = false;
  const isReady = () => health.isReady();
  return {
    isReady,
    isServing: async () => isReady() && !isGone && (await health.probe()),
    isDraining: () => isGone,
    end: () => {
      isGone = true;
    },
  };
}
