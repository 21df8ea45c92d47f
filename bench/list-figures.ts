import type { SessionCaller } from '../src/core/caller.ts';
import type { SessionsListAnswer } from '../src/protocol/tools/session-tool-answers.ts';
import { listSessions } from '../src/service/sessions/list-sessions.ts';
import { systemClock } from '../src/util/clock.ts';
import { silentLogger } from '../src/util/logger.ts';
import { type BenchState, CALLER_KEY, createBenchState, seedSessions } from './bench-state.ts';
import { startProgram } from './gateway-program.ts';
import { quantileSpread, type Spread, timeBlocks, timeEach } from './statistics.ts';

/** Figure 3 for one number of sessions: p50 in ms of a page of 100. */
export interface ListFigures {
  sessions: number;
  service: Spread;
  /** the page that a cursor far down asks for */
  serviceDeepPage: Spread;
  webSocket: Spread;
}

const WARM_UP = { count: 60, withinMs: 1500 };
const BLOCKS = { blocks: 5, count: 60, withinMs: 800 };
const CALLER: SessionCaller = { type: 'session', sessionKey: CALLER_KEY, agentId: 'main' };

/** Lists a store of `sessions` sessions in this process, then through the WebSocket of the program. */
export async function measureList(sessions: number): Promise<ListFigures> {
  const state = createBenchState();
  try {
    const inProcess = await measureService(state, sessions);
    return { sessions, ...inProcess, webSocket: await measureWebSocket(state) };
  } finally {
    state.remove();
  }
}

async function measureService(
  state: BenchState,
  sessions: number,
): Promise<Pick<ListFigures, 'service' | 'serviceDeepPage'>> {
  const store = state.openStore();
  try {
    await seedSessions(store, state, sessions - 1);
    const config = (): BenchState['config'] => state.config;
    const context = {
      store,
      config,
      clock: systemClock,
      stateDir: state.stateDir,
      logger: silentLogger,
      cursorSecret: 'bench',
    };
    const list = (cursor?: string): Promise<SessionsListAnswer> =>
      listSessions(context, CALLER, cursor === undefined ? {} : { cursor });
    const deep = await deepCursor(list);
    await timeEach(WARM_UP, () => list());
    const first = await inBlocks(() => list());
    return { service: first, serviceDeepPage: await inBlocks(() => list(deep)) };
  } finally {
    await store.close();
  }
}

/** Follows the pages as far as there are any, at most 200. */
async function deepCursor(
  list: (cursor?: string) => Promise<SessionsListAnswer>,
): Promise<string | undefined> {
  let cursor: string | undefined;
  for (let page = 0; page < 200; page += 1) {
    const answer = await list(cursor);
    if (!('nextCursor' in answer) || answer.nextCursor === undefined) break;
    cursor = answer.nextCursor;
  }
  return cursor;
}

async function measureWebSocket({ stateDir }: BenchState): Promise<Spread> {
  const program = await startProgram(stateDir);
  try {
    const client = await program.connect();
    const list = (): Promise<unknown> =>
      client.request('tools.invoke', { tool: 'sessions_list', args: {}, sessionKey: 'main' });
    await timeEach(WARM_UP, list);
    const figure = await inBlocks(list);
    await client.close();
    return figure;
  } finally {
    await program.stop();
  }
}

async function inBlocks(call: () => Promise<unknown>): Promise<Spread> {
  return quantileSpread(await timeBlocks(BLOCKS, call), 0.5);
}
