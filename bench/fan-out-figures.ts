import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { startGateway } from '../src/app/start-gateway.ts';
import { connectGateway, type GatewayClient } from '../src/client/gateway-client.ts';
import { silentLogger } from '../src/util/logger.ts';
import { CALLER_KEY, createBenchState, seedSessions } from './bench-state.ts';
import { quantileSpread, type Spread, spreadOf } from './statistics.ts';

/** Lists while many children work: each makes a tool call ten times a second (BR-089). */
export interface FanOutFigures {
  children: number;
  sessions: number;
  /** ms, `sessions_list` every 100 ms through the WebSocket, p95 */
  list: Spread;
  /** ms that the event loop of the gateway was late, p99; gateway and client are one process */
  loopDelay: Spread;
}

const CHILDREN = 15;
const SESSIONS = 500;
const STEP_MS = 100;
const BLOCKS = 4;
const LISTS_PER_BLOCK = 25;
/** longer than all blocks; what is left is stopped */
const STEPS = 400;

/** Starts a gateway in this process, fans out, and asks for the list all the while. */
export async function measureFanOut(): Promise<FanOutFigures> {
  const subagents = { maxChildrenPerAgent: CHILDREN, maxConcurrent: CHILDREN };
  const state = createBenchState({ agents: { defaults: { subagents } } });
  const store = state.openStore();
  await seedSessions(store, state, SESSIONS - 1);
  await store.close();
  const { stateDir } = state;
  const gateway = await startGateway({ stateDir, port: 0, env: {}, logger: silentLogger });
  const { url, token } = gateway;
  const client = await connectGateway({ url, token, clientName: 'bench' });
  try {
    await fanOut(client);
    return { children: CHILDREN, sessions: SESSIONS, ...(await measureBlocks(client)) };
  } finally {
    await client.request('runs.stop', { sessionKey: CALLER_KEY });
    await client.close();
    await gateway.stop();
    state.remove();
  }
}

async function fanOut(client: GatewayClient): Promise<void> {
  const step = `SLEEP: ${STEP_MS}\nTOOL: read ${JSON.stringify({ path: 'nothing.txt' })}`;
  const task = Array.from({ length: STEPS }, () => step).join('\n');
  for (let at = 0; at < CHILDREN; at += 1) {
    const args = { task, label: `child ${at}` };
    const { result } = await invoke<{ status: string }>(client, 'sessions_spawn', args);
    if (result.status !== 'accepted') throw new Error(`bench: ${JSON.stringify(result)}`);
  }
}

async function measureBlocks(
  client: GatewayClient,
): Promise<Pick<FanOutFigures, 'list' | 'loopDelay'>> {
  const lists: number[][] = [];
  const delays: number[] = [];
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  while (lists.length < BLOCKS) {
    histogram.reset();
    lists.push(await timeLists(client));
    delays.push(histogram.percentile(99) / 1e6);
  }
  histogram.disable();
  return { list: quantileSpread(lists, 0.95), loopDelay: spreadOf(delays) };
}

async function timeLists(client: GatewayClient): Promise<number[]> {
  const times: number[] = [];
  while (times.length < LISTS_PER_BLOCK) {
    const before = performance.now();
    await invoke(client, 'sessions_list', {});
    const took = performance.now() - before;
    times.push(took);
    await delay(Math.max(0, STEP_MS - took));
  }
  return times;
}

function invoke<Result>(
  client: GatewayClient,
  tool: string,
  args: object,
): Promise<{ result: Result }> {
  return client.request('tools.invoke', { tool, args, sessionKey: 'main' });
}
