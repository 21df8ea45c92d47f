/** `npm run bench -- search`: searching a store of a million messages, and what the index costs. */
import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { SessionCaller } from '../src/core/caller.ts';
import { searchSessions } from '../src/service/sessions/search-sessions.ts';
import type { Store } from '../src/store/store.ts';
import { systemClock } from '../src/util/clock.ts';
import { silentLogger } from '../src/util/logger.ts';
import { type BenchState, CALLER_KEY, createBenchState, seedSessions } from './bench-state.ts';
import { seedWords, wordAt } from './search-texts.ts';
import { quantileSpread, type Spread, spreadOf, timeBlocks } from './statistics.ts';

export interface SearchFigures {
  messages: number;
  /** s: taking all messages into the index, as the migration does */
  fillSeconds: number;
  queries: QueryFigures[];
  /** ms: how long a group of 64 units with a message each holds the event loop */
  groupCommit: Spread;
  /** µs of processor time a message: appended in groups of 64, with the index and without */
  append: { indexed: Spread; plain: Spread };
}
interface QueryFigures {
  what: string;
  hits: number;
  /** ms */
  p50: Spread;
  p95: Spread;
  /** ms: the longest delay of the event loop meanwhile, beyond that of its timer */
  loopDelay: Spread;
}

const BLOCKS = { blocks: 5, count: 20, withinMs: 2000 };
const SAMPLES = 50;
const SESSIONS = 10_000;
const GROUP = 64;
const CALLER: SessionCaller = { type: 'session', sessionKey: CALLER_KEY, agentId: 'main' };

/** What is looked for: `wordAt(rank)` stands in about one message of `rank / 3`. */
const QUERIES: [what: string, query: string, visibility: 'all' | 'tree'][] = [
  ['a word that no message has', wordAt(20_000), 'all'],
  ['a word of one message in 300', wordAt(1000), 'all'],
  ['the most frequent word', wordAt(1), 'all'],
  ['two frequent words', `${wordAt(1)} ${wordAt(2)}`, 'all'],
  ['a phrase of frequent words', `"${wordAt(1)} ${wordAt(2)}"`, 'all'],
  ['words that are never together', `${wordAt(19_001)} ${wordAt(19_002)}`, 'all'],
  ['the beginning of a thousand words', `${wordAt(10_000).slice(0, 4)}*`, 'all'],
  ['the most frequent word, all but one session hidden', wordAt(1), 'tree'],
];

/** Searches a store of so many messages in this process. */
export async function measureSearch(messages: number): Promise<SearchFigures> {
  const state = createBenchState();
  try {
    const seeding = state.openStore();
    await seedSessions(seeding, state, SESSIONS - 1);
    await seeding.close();
    const fillSeconds = seedWords(state.path, messages);
    const store = state.openStore();
    try {
      const queries: QueryFigures[] = [];
      for (const [what, query, visibility] of QUERIES)
        queries.push({ what, ...(await measureQuery({ state, store }, { query, visibility })) });
      const groupCommit = await measureGroups(store);
      return { messages, fillSeconds, queries, groupCommit, append: await measureAppends(store) };
    } finally {
      await store.close();
    }
  } finally {
    state.remove();
  }
}

async function measureQuery(
  { state, store }: { state: BenchState; store: Store },
  { query, visibility }: { query: string; visibility: 'all' | 'tree' },
): Promise<Omit<QueryFigures, 'what'>> {
  const { config } = state;
  const tools = { ...config.tools, sessions: { visibility } };
  const context = {
    store,
    config: () => ({ ...config, tools }),
    logger: silentLogger,
    cursorSecret: 'bench',
  };
  const search = async (): Promise<number> => {
    const answer = await searchSessions(context, CALLER, { query });
    if (!('hits' in answer)) throw new Error(`bench: ${answer.error}`);
    return answer.hits.length;
  };
  const hits = await search();
  const blocks = await timeBlocks(BLOCKS, search);
  const delays: number[] = [];
  for (let at = 0; at < SAMPLES; at += 1) delays.push(await longestDelay(search));
  return {
    hits,
    p50: quantileSpread(blocks, 0.5),
    p95: quantileSpread(blocks, 0.95),
    loopDelay: spreadOf(delays),
  };
}

/** Returns by how much the event loop was late at most, ms, beyond the step of its timer. */
async function longestDelay(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 3));
  delay.reset();
  await work();
  await new Promise((resolve) => setTimeout(resolve, 3));
  delay.disable();
  return Math.max(0, delay.max / 1e6 - 1);
}

/** A group is one synchronous piece of work: its time is the delay of whatever else waits. */
async function measureGroups(store: Store): Promise<Spread> {
  const delays: number[] = [];
  for (let at = 0; at < SAMPLES; at += 1)
    delays.push(await longestDelay(() => appendGroup(store, 'message')));
  return spreadOf(delays);
}

async function measureAppends(store: Store): Promise<SearchFigures['append']> {
  const perMessage = async (type: string): Promise<number> => {
    const before = process.cpuUsage();
    for (let at = 0; at < 10; at += 1) await appendGroup(store, type);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (10 * GROUP);
  };
  const indexed: number[] = [];
  const plain: number[] = [];
  // only messages are indexed
  for (let round = 0; round < 11; round += 1) {
    indexed.push(await perMessage('message'));
    plain.push(await perMessage('unsearched'));
  }
  return { indexed: spreadOf(indexed), plain: spreadOf(plain) };
}

async function appendGroup(store: Store, type: string): Promise<void> {
  const session = await store.read((tx) => tx.sessions.get(CALLER_KEY));
  const sessionId = session?.sessionId ?? '';
  const text = Array.from({ length: 30 }, (_, at) => wordAt(at * 17 + 1)).join(' ');
  const json = JSON.stringify({ role: 'user', content: [{ type: 'text', text }], timestamp: 1 });
  await Promise.all(
    Array.from({ length: GROUP }, () =>
      store.write('seed', async (tx) => {
        const entryId = randomUUID();
        const entry = { sessionId, entryId, type, role: 'user' as const, runId: null, json };
        await tx.entries.append({ ...entry, createdAt: systemClock.now() });
      }),
    ),
  );
}
