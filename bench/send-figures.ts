import { join } from 'node:path';
import type { GatewayClient } from '../src/client/gateway-client.ts';
import type { ConfigInput } from '../src/protocol/options/config.ts';
import { openBareCommit } from './bare-loop.ts';
import { createBenchState, groupKey, seedSessions } from './bench-state.ts';
import { residentMb, startProgram } from './gateway-program.ts';
import { startInstantModel } from './instant-model.ts';
import { quantileSpread, type Spread, timeEach } from './statistics.ts';

/** Figure 4 for one runtime: ms from the request to the reply, one send at a time, through the WebSocket. */
export interface SendFigures {
  /** the very first send after the start */
  firstMs: number;
  /** the next ones, while the program is cold */
  fresh: { p50: Spread; p95: Spread };
  warm: { p50: Spread; p95: Spread };
  /** one commit of one row to the same disk, between the blocks of sends; a send waits for three */
  bareCommit: Spread;
  /** resident set of the gateway after all sends */
  memoryMb: number;
}

const TARGETS = 50;
const FRESH = { count: 20, withinMs: 2000 };
const WARM_UP = { count: 200, withinMs: 4000 };
const BLOCKS = 5;
const WARM = { count: 150, withinMs: 2000 };
const COMMITS = { count: 40, withinMs: 500 };

/** Sends with the scripted runtime. */
export function measureScriptedSends(): Promise<SendFigures> {
  return measureSends({});
}

/** Sends with the embedded runtime and a model that answers at once. */
export async function measureModelSends(): Promise<SendFigures> {
  const model = await startInstantModel();
  const provider = { baseUrl: model.baseUrl, apiKey: 'bench', models: [{ id: 'instant' }] };
  try {
    return await measureSends({ models: { providers: { local: provider } } });
  } finally {
    await model.close();
  }
}

async function measureSends(config: ConfigInput): Promise<SendFigures> {
  const state = createBenchState(config);
  try {
    const store = state.openStore();
    await seedSessions(store, state, TARGETS);
    await store.close();
    const program = await startProgram(state.stateDir);
    const disk = openBareCommit(join(state.stateDir, 'bare.db'));
    try {
      const client = await program.connect();
      const times = await timeSends(client, () => disk.commit());
      const memoryMb = Math.round(residentMb(program.pid));
      await client.close();
      return { ...times, memoryMb };
    } finally {
      disk.close();
      await program.stop();
    }
  } finally {
    state.remove();
  }
}

async function timeSends(
  client: GatewayClient,
  commit: () => void,
): Promise<Omit<SendFigures, 'memoryMb'>> {
  let sent = 0;
  const sendNext = (): Promise<void> => send(client, groupKey((sent += 1) % TARGETS));
  const [firstMs = Number.NaN] = await timeEach({ count: 1, withinMs: 0 }, sendNext);
  const fresh = [await timeEach(FRESH, sendNext)];
  await timeEach(WARM_UP, sendNext);
  const warm: number[][] = [];
  const commits: number[][] = [];
  while (warm.length < BLOCKS) {
    warm.push(await timeEach(WARM, sendNext));
    commits.push(await timeEach(COMMITS, commit));
  }
  return {
    firstMs: Math.round(firstMs * 10) / 10,
    fresh: quantiles(fresh),
    warm: quantiles(warm),
    bareCommit: quantileSpread(commits, 0.5),
  };
}

async function send(client: GatewayClient, sessionKey: string): Promise<void> {
  const args = { sessionKey, message: 'please confirm that you read this', timeoutSeconds: 30 };
  const params = { tool: 'sessions_send', args, sessionKey: 'main' };
  const { result } = await client.request<{ result: { status: string } }>('tools.invoke', params);
  if (result.status !== 'ok') throw new Error(`bench: a send ended ${JSON.stringify(result)}`);
}

function quantiles(blocks: number[][]): { p50: Spread; p95: Spread } {
  return { p50: quantileSpread(blocks, 0.5), p95: quantileSpread(blocks, 0.95) };
}
