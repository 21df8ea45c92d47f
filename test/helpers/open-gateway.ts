/** A gateway in this process on a given state, with a client and a look at its store. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startGateway } from '../../src/app/start-gateway.ts';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import type { Store } from '../../src/store/store.ts';
import { silentLogger } from '../../src/util/logger.ts';
import { hasOpenJobs } from './test-world.ts';
import { PATIENCE_MS } from './patience.ts';

export interface OpenGateway {
  client: GatewayClient;
  address: { url: string; token: string };
  /** Resolves when no run is queued or going and no job is open. */
  settled(): Promise<void>;
  /** Stops it; the test's end does so too. */
  close(): Promise<void>;
}

/** Work that is not done by then is stuck. */
const SETTLE_MS = 20_000;

/**
 * Starts a gateway on a state that another one may have left in any way. `beforeUnit` is told each
 * unit of work before it runs; when it throws, the store has refused the unit.
 */
export async function openGateway(
  t: Pick<TestContext, 'after'>,
  stateDir: string,
  beforeUnit: (unit: string) => void = () => {},
): Promise<OpenGateway> {
  let store: Store | undefined;
  const gateway = await startGateway({
    stateDir,
    port: 0,
    env: {},
    logger: silentLogger,
    wrapStore: (opened) => (store = withHook(opened, beforeUnit)),
  });
  const client = await connectGateway({
    url: gateway.url,
    token: gateway.token,
    clientName: 'test',
    timeoutMs: PATIENCE_MS,
  });
  const close = async (): Promise<void> => {
    await client.close();
    await gateway.stop();
  };
  t.after(close);
  const { url, token = '' } = gateway;
  return { client, address: { url, token }, close, settled: () => settled(store!) };
}

/** Returns the path of the database of a state directory. */
export function databaseOf(stateDir: string): string {
  return join(stateDir, 'trunkline.db');
}

function withHook(store: Store, beforeUnit: (unit: string) => void): Store {
  return {
    read: (fn) => store.read(fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
    write: async (unit, fn) => {
      beforeUnit(unit);
      return store.write(unit, fn);
    },
  };
}

async function settled(store: Store): Promise<void> {
  const deadline = AbortSignal.timeout(SETTLE_MS);
  for (;;) {
    const { promise: changed, resolve } = Promise.withResolvers<void>();
    const stop = store.onSignal(() => resolve());
    deadline.addEventListener('abort', () => resolve(), { once: true });
    const open = await openWork(store);
    if (open === '') return stop();
    if (deadline.aborted) throw new Error(`still open after ${SETTLE_MS} ms: ${open}`);
    // The last commit of a job signals nothing, so the rows are looked at now and then as well.
    await Promise.race([changed, new Promise((again) => setTimeout(again, 20))]);
    stop();
  }
}

function openWork(store: Store): Promise<string> {
  return store.read(async (tx) => {
    const { queued = 0, running = 0, waiting = 0 } = await tx.runs.countByState();
    const hasJobs = await hasOpenJobs(tx, Date.now());
    if (queued + running + waiting === 0 && !hasJobs) return '';
    return JSON.stringify({ queued, running, waiting, hasJobs });
  });
}
