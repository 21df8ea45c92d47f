/** A gateway process with a model behind it, for tests that kill it at a moment of their choice. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { findLoose, readStory, type Story } from './crash-story.ts';
import { type FakeModel, startFakeModel } from './fake-model.ts';
import {
  CRASH_CONFIG,
  type GatewayAddress,
  type GatewayProcess,
  makeStateDir,
  startGatewayProcess,
} from './gateway-process.ts';
import { databaseOf } from './open-gateway.ts';
import { PATIENCE_MS } from './patience.ts';

type Json = Record<string, unknown>;

export interface Life {
  process: GatewayProcess;
  address: GatewayAddress;
  client: GatewayClient;
  /** Sends a person's message and resolves with its runId once it is accepted. */
  send(sessionKey: string, message: string, idempotencyKey?: string): Promise<string>;
  /** Resolves with how the run ended. */
  wait(runId: string): Promise<Json>;
}

export interface KillWorld {
  stateDir: string;
  database: string;
  model: FakeModel;
  /** Starts a gateway on the state; the one before must be gone. */
  start(options?: { port?: number; crash?: string }): Promise<Life>;
  /** Resolves with the story when nothing is open any more. */
  end(): Promise<Story>;
}

/** Work that is not done by then is stuck. */
const END_MS = 30_000;

/** Makes a state whose agents main and scout run on a model of this process. */
export async function makeKillWorld(t: TestContext, config: Json = {}): Promise<KillWorld> {
  const model = await startFakeModel();
  t.after(() => model.close());
  const provider = { baseUrl: `${model.url}/v1`, apiKey: 'k', models: [{ id: 'fake-1' }] };
  const stateDir = makeStateDir(t, {
    config: { ...CRASH_CONFIG, models: { providers: { fake: provider } }, ...config },
  });
  const database = databaseOf(stateDir);
  return {
    stateDir,
    database,
    model,
    start: async (options = {}) => {
      const gateway = startGatewayProcess(t, { stateDir, ...options });
      const address = await gateway.ready;
      const client = await connectGateway({ ...address, timeoutMs: PATIENCE_MS });
      t.after(() => client.close());
      return toLife({ process: gateway, address, client });
    },
    end: async () => {
      const deadline = performance.now() + END_MS;
      for (let loose = findLoose(database); loose.length > 0; loose = findLoose(database)) {
        if (performance.now() > deadline) throw new Error(`still open:\n${loose.join('\n')}`);
        await delay(20);
      }
      return readStory(database);
    },
  };
}

let sent = 0;

/** Returns a running gateway with what tests do with it. */
export function toLife(parts: Pick<Life, 'process' | 'address' | 'client'>): Life {
  const { client } = parts;
  return {
    ...parts,
    send: async (sessionKey, message, idempotencyKey = `send-${(sent += 1)}`) => {
      const params = { sessionKey, message, idempotencyKey };
      return (await client.request<{ runId: string }>('chat.send', params)).runId;
    },
    wait: (runId) => client.request('agent.wait', { runId, timeoutMs: END_MS }),
  };
}
