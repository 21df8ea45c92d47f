import { readHistory } from '../src/service/sessions/read-history.ts';
import { silentLogger } from '../src/util/logger.ts';
import {
  CALLER_KEY,
  createBenchState,
  groupKey,
  seedMessages,
  seedSessions,
} from './bench-state.ts';
import { quantileSpread, type Spread, timeBlocks, timeEach } from './statistics.ts';

/** Beside the five: what a long transcript costs, ms. */
export interface TranscriptFigures {
  messages: number;
  /** `sessions_history`, the newest 50 */
  history: Spread;
  /** all entries, as the start of a turn reads them */
  context: Spread;
}

const WARM_UP = { count: 30, withinMs: 1500 };
const BLOCKS = { blocks: 5, count: 30, withinMs: 1000 };

/** Reads a session of `messages` messages in this process. */
export async function measureTranscript(messages: number): Promise<TranscriptFigures> {
  const state = createBenchState();
  const store = state.openStore();
  try {
    await seedSessions(store, state, 1);
    const sessionId = await seedMessages(store, groupKey(0), messages);
    const config = (): typeof state.config => state.config;
    const context = { store, config, logger: silentLogger };
    const caller = { type: 'session', sessionKey: CALLER_KEY, agentId: 'main' } as const;
    const history = await inBlocks(() => readHistory(context, caller, { sessionKey: groupKey(0) }));
    const whole = await inBlocks(() => store.read((tx) => tx.entries.context(sessionId)));
    return { messages, history, context: whole };
  } finally {
    await store.close();
    state.remove();
  }
}

async function inBlocks(call: () => Promise<unknown>): Promise<Spread> {
  await timeEach(WARM_UP, call);
  return quantileSpread(await timeBlocks(BLOCKS, call), 0.5);
}
