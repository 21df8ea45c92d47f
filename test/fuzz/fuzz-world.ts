/** The use cases and the doors' dispatch over a real store, without a scheduler: nothing is written but by what is fed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createScriptedRuntime } from '../../src/agent/scripted/create-scripted-runtime.ts';
import { createWebchat } from '../../src/channels/webchat/create-webchat.ts';
import { createPresence, type Presence } from '../../src/gateway/presence.ts';
import { createDispatch, type Dispatch } from '../../src/gateway/dispatch.ts';
import { defaultConfig } from '../../src/protocol/options/config.ts';
import { OPERATOR_SCOPES } from '../../src/protocol/scopes.ts';
import type { RunContext } from '../../src/service/context.ts';
import { createServices } from '../../src/service/create-services.ts';
import { createRunEvents } from '../../src/service/run-events.ts';
import type { Services } from '../../src/service/services.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { createCallStarter } from '../../src/tools/create-call-starter.ts';
import { createToolCatalog, createToolInvoker } from '../../src/tools/create-tool-invoker.ts';
import { systemClock } from '../../src/util/clock.ts';
import { type Logger, silentLogger } from '../../src/util/logger.ts';
import { StoreWatch } from './store-watch.ts';

/** Must be in no answer. */
export const SECRET = 'canary-token-5b1d0a7e44';
export const CURSOR_SECRET = 'cursor-secret-0d3f';

export interface FuzzWorld {
  services: Services;
  invokeTool: ReturnType<typeof createToolInvoker>;
  dispatch: Dispatch;
  presence: Presence;
  watch: StoreWatch;
  /** what was logged as a fault since the last look */
  takeFaults(): string[];
  reportFault(fields: object): void;
  /** Calls a method with every scope; its waits are over at once. */
  call(method: string, params: Record<string, unknown>): Promise<unknown>;
  stop(): Promise<void>;
}

/** A session that has an inbox. */
export const CLIENT_KEY = 'agent:a:mcp:one';

const CONFIG = {
  agents: { list: [{ id: 'a', default: true, subagents: { allowAgents: ['*'] } }, { id: 'b' }] },
  tools: {
    allow: ['*', 'sessions_wait', 'sessions_stop', 'sessions_search'],
    sessions: { visibility: 'all' as const },
    agentToAgent: { enabled: true },
  },
};

/** Starts a world with a few sessions. */
export async function startFuzzWorld(): Promise<FuzzWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-'));
  const path = join(folder, 'trunkline.db');
  const faults: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (fields, message) => void faults.push(`${message}: ${describe(fields)}`),
  };
  const store = openSqliteStore({ path, clock: systemClock, logger });
  const config = defaultConfig(CONFIG);
  const runtime = createScriptedRuntime();
  const context: RunContext = {
    store,
    config: () => config,
    clock: systemClock,
    logger,
    events: createRunEvents((error) => void faults.push(String(error))),
    stateDir: folder,
    cursorSecret: CURSOR_SECRET,
    bootId: 'fuzz',
    startedAt: Date.now(),
    runtimeFor: () => runtime,
    toolsOf: () => Promise.resolve({ tools: new Map(), whyMissing: () => undefined }),
    channels: new Map([['webchat', createWebchat(() => {})]]),
  };
  const host = createServices(context);
  const { services } = host;
  const invokeTool = createToolInvoker({ services, store, config: () => config, logger });
  const presence = createPresence({
    clock: systemClock,
    version: 'fuzz',
    host: '127.0.0.1',
    onChange: () => {},
  });
  const dispatch = createDispatch({
    services,
    invokeTool,
    listTools: createToolCatalog({ store, config: () => config }),
    presence,
    startCall: createCallStarter({ services, store, config: () => config }),
    version: 'fuzz',
    clock: systemClock,
    isServing: async () => true,
    isDraining: () => false,
    reloadConfig: async () => ({ applied: [], needsRestart: [], unchanged: [] }),
  });
  const call: FuzzWorld['call'] = (method, params) =>
    dispatch(
      { type: 'req', id: '1', method, params },
      {
        scopes: OPERATOR_SCOPES,
        signal: AbortSignal.abort(),
        respond: () => {},
        markStarted: () => {},
        tellSessions: () => {},
        feeds: { open: () => {}, stop: () => false },
      },
    );
  for (const sessionKey of [
    'main',
    'agent:b:main',
    'agent:a:one',
    'agent:a:two',
    'agent:b:discord:group:g',
    CLIENT_KEY,
  ])
    await call('chat.send', {
      sessionKey,
      message: `hello ${sessionKey}`,
      idempotencyKey: sessionKey,
    });
  const watch = new StoreWatch(path);
  return {
    services,
    invokeTool,
    dispatch,
    presence,
    watch,
    call,
    takeFaults: () => faults.splice(0),
    reportFault: (fields) => void faults.push(describe(fields)),
    stop: async () => {
      watch.close();
      await host.stop(0);
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function describe(fields: object): string {
  const err = 'err' in fields ? fields.err : fields;
  return err instanceof Error ? (err.stack ?? err.message) : JSON.stringify(err);
}
