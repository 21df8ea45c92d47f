/** The use cases over a store with nothing that runs turns: what is accepted stays queued. */
import type { AgentRuntime } from '../src/agent/runtime.ts';
import { createGateway } from '../src/gateway/create-gateway.ts';
import type { RunContext } from '../src/service/context.ts';
import { createServices } from '../src/service/create-services.ts';
import { createRunEvents } from '../src/service/run-events.ts';
import type { Services } from '../src/service/services.ts';
import type { Store } from '../src/store/store.ts';
import { createCallStarter } from '../src/tools/create-call-starter.ts';
import { createToolCatalog, createToolInvoker } from '../src/tools/create-tool-invoker.ts';
import { systemClock } from '../src/util/clock.ts';
import { silentLogger } from '../src/util/logger.ts';
import type { BenchState } from './bench-state.ts';

/** Secret of the gateway below, which lives as long as the bench and answers loopback only. */
export const ACCEPTANCE_TOKEN = 'bench';

/** Returns the use cases, not started. */
export function createAcceptanceServices(state: BenchState, store: Store): Services {
  return createServices(contextOf(state, store)).services;
}

/** Opens a gateway whose runs stay queued, and resolves with its address. */
export async function serveAcceptance(state: BenchState): Promise<string> {
  const store = state.openStore();
  const context = contextOf(state, store);
  const { services } = createServices(context);
  const { config, logger, events } = context;
  const gateway = createGateway({
    services,
    events,
    invokeTool: createToolInvoker({ services, store, config, logger }),
    listTools: createToolCatalog({ store, config }),
    startCall: createCallStarter({ services, store, config }),
    auth: { mode: 'token', token: ACCEPTANCE_TOKEN, password: undefined },
    reloadConfig: async () => ({ applied: [], needsRestart: [], unchanged: [] }),
    host: '127.0.0.1',
    port: 0,
    logger,
    health: { isReady: () => true, probe: () => Promise.resolve(true) },
  });
  return (await gateway.listen()).url;
}

function contextOf({ config, stateDir }: BenchState, store: Store): RunContext {
  return {
    store,
    config: () => config,
    clock: systemClock,
    logger: silentLogger,
    events: createRunEvents(() => {}),
    stateDir,
    cursorSecret: 'bench',
    bootId: 'bench',
    startedAt: systemClock.now(),
    runtimeFor: (): AgentRuntime => {
      throw new Error('bench: no run is executed here');
    },
    toolsOf: () => Promise.resolve({ tools: new Map(), whyMissing: () => undefined }),
    channels: new Map(),
  };
}
