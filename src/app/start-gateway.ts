/** The composition root: opens the store, builds the parts, starts them in order, stops them in reverse. */
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import type { McpTools } from '../agent/mcp/create-mcp-tools.ts';
import type { ChannelAdapter } from '../channels/channel.ts';
import {
  bindAddress,
  loadConfig,
  type LoadedConfig,
  type LoadOptions,
} from '../config/load-config.ts';
import { secretValues } from '../config/secret-values.ts';
import { createGateway, type Gateway } from '../gateway/create-gateway.ts';
import type { ReloadReport } from '../protocol/answers/method-answers.ts';
import type { ServiceHost } from '../service/create-services.ts';
import type { McpOffer } from '../mcp/create-mcp-server.ts';
import { createMirror, type Mirror } from '../service/mirror/create-mirror.ts';
import type { Store } from '../store/store.ts';
import { type Clock, systemClock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { buildServices } from './build-services.ts';
import { createLogger } from './create-logger.ts';
import { createLiveConfig, type LiveConfig } from './live-config.ts';
import { mcpDoor } from './mcp-door.ts';
import { openStore } from './open-store.ts';
import { TRUNKLINE_VERSION } from './version.ts';
import { watchFiles } from './watch-files.ts';

export interface StartOptions extends LoadOptions {
  logger?: Logger | undefined;
  /** wraps the store; crash tests stop the process around a named unit of work */
  wrapStore?: ((store: Store) => Store) | undefined;
  /** the time by which a store of its own is kept; tests move it */
  clock?: Clock | undefined;
  /** how often the files of configuration and token are looked at for a change; default 1000 */
  watchIntervalMs?: number | undefined;
  /** chat services beside webchat; one with the same id takes its place */
  channels?: readonly ChannelAdapter[] | undefined;
  /** returns what a client of `/mcp` is offered with more in it */
  extendMcp?: ((offer: McpOffer) => McpOffer) | undefined;
}

export interface RunningGateway {
  url: string;
  port: number;
  token: string | undefined;
  stateDir: string;
  /** what the scripted runtime stands in for; undefined when a model is configured */
  notice: string | undefined;
  /** where it says what happens, without credentials */
  logger: Logger;
  /** Loads the configuration anew; rejects `config` and changes nothing when something is wrong in it. */
  reload(): Promise<ReloadReport>;
  /** Stops taking work, hands over and closes. May be called twice. */
  stop(reason?: string): Promise<void>;
}

/** Runs that have not ended by then go on at the next start. */
const STOP_GRACE_MS = 5000;
/** A changed configuration is in force after this time. */
const WATCH_INTERVAL_MS = 1000;

/** Starts a gateway and resolves when it answers. Rejects with one clear error; then nothing is left running. */
export async function startGateway(options: StartOptions = {}): Promise<RunningGateway> {
  const loaded = loadConfig(options);
  const env = options.env ?? process.env;
  let secrets = (): readonly string[] => secretValues(loaded.config);
  const level = env['TRUNKLINE_LOG_LEVEL'] ?? 'info';
  const logger = options.logger ?? createLogger(level, () => secrets());
  for (const { path, message } of loaded.warnings) logger.warn({ path }, message);
  const bootId = randomUUID();
  const { store: opened, release } = await openStore(loaded, {
    logger,
    bootId,
    clock: options.clock,
  });
  const store = options.wrapStore === undefined ? opened : options.wrapStore(opened);
  try {
    const live = createLiveConfig(loaded, { options, env, logger });
    secrets = live.secrets;
    return await startOn(store, { loaded, live, logger, bootId, options, release });
  } catch (error) {
    await release();
    throw error;
  }
}

interface Start {
  loaded: LoadedConfig;
  live: LiveConfig;
  logger: Logger;
  bootId: string;
  options: StartOptions;
  release: () => Promise<void>;
}

async function startOn(store: Store, start: Start): Promise<RunningGateway> {
  const { loaded, live, logger, release } = start;
  const { config, stateDir } = loaded;
  const { auth } = live.gatewaySettings();
  const { context, host, doorTools, mcpTools } = buildServices(store, {
    config: live.current,
    stateDir,
    clock: store.shared?.clock ?? start.options.clock ?? systemClock,
    logger,
    bootId: start.bootId,
    secret: auth.token ?? auth.password ?? stateDir,
    channels: start.options.channels ?? [],
  });
  // where several gateways share a store, no one of them owns the files
  const mirror = store.shared === undefined ? createMirror(context) : undefined;
  let isReady = false;
  await host.start();
  mirror?.start();
  const reload = async () =>
    live.reload((settings) => {
      gateway.reconfigure(settings);
      mcpTools.reconfigure();
    });
  const gateway = createGateway({
    ...live.gatewaySettings(),
    services: host.services,
    events: context.events,
    ...doorTools,
    mcp: mcpDoor({
      services: host.services,
      ...doorTools,
      config: live.current,
      logger,
      extend: start.options.extendMcp,
    }),
    reloadConfig: reload,
    host: bindAddress(config.gateway.bind),
    port: config.gateway.port,
    logger,
    health: { isReady: () => isReady, probe: () => answers(store) },
    version: TRUNKLINE_VERSION,
  });
  try {
    isReady = true;
    const { url, port } = await gateway.listen();
    writeFileSync(loaded.urlPath, `${url}\n`, { mode: 0o600 });
    logger.info({ url, stateDir }, 'gateway ready');
    const stopWatch = watchFiles([loaded.configPath, loaded.tokenPath], {
      intervalMs: start.options.watchIntervalMs ?? WATCH_INTERVAL_MS,
      // what was wrong is in the log
      onChange: () => void reload().catch(() => {}),
    });
    const parts = { gateway, host, mcpTools, mirror, stopWatch, release, urlFile: loaded.urlPath };
    return {
      url,
      port,
      token: auth.token,
      stateDir,
      notice: noticeOf(loaded),
      logger,
      reload,
      stop: stopOnce(parts),
    };
  } catch (error) {
    await host.stop(0);
    await mcpTools.stop();
    await mirror?.stop();
    throw error;
  }
}

async function answers(store: Store): Promise<boolean> {
  return store
    .read((tx) => tx.jobs.nextRunAt())
    .then(
      () => true,
      () => false,
    );
}

function noticeOf({ config }: LoadedConfig): string | undefined {
  if (Object.keys(config.models.providers).length > 0) return undefined;
  return 'no model provider is configured: agents run on the scripted runtime, which answers by script and is no model (set models.providers, OPENAI_API_KEY or ANTHROPIC_API_KEY)';
}

function stopOnce(parts: {
  gateway: Gateway;
  host: ServiceHost;
  mcpTools: McpTools;
  mirror: Mirror | undefined;
  stopWatch: () => void;
  release: () => Promise<void>;
  urlFile: string;
}): RunningGateway['stop'] {
  let stopping: Promise<void> | undefined;
  const stop = async (reason: string): Promise<void> => {
    parts.stopWatch();
    parts.gateway.drain(reason);
    await parts.host.stop(STOP_GRACE_MS);
    await Promise.all([parts.gateway.close(), parts.mcpTools.stop()]);
    await parts.mirror?.stop();
    rmSync(parts.urlFile, { force: true });
    await parts.release();
  };
  return (reason = 'stopped') => (stopping ??= stop(reason));
}
