/**
 * `npm run bench`: the figures of `docs/performance.md`, as JSON on standard output and as a table
 * on standard error. Uses loopback and temporary folders only.
 */
import { cpus } from 'node:os';
import { measureAcceptance } from './acceptance-figures.ts';
import { serveAcceptance } from './acceptance-services.ts';
import { benchStateAt } from './bench-state.ts';
import { measureFanOut } from './fan-out-figures.ts';
import { type Figures, formatFigures, formatSearch } from './format-figures.ts';
import { ensureBuilt } from './gateway-program.ts';
import { measureList } from './list-figures.ts';
import { measureSearch } from './search-figures.ts';
import { measureModelSends, measureScriptedSends } from './send-figures.ts';
import { measureStarts } from './start-figures.ts';
import { measureTranscript } from './transcript-figures.ts';

/** The whole bench ends by then, whatever hangs; a search of a million messages fills their index first. */
const LIMIT_MS = { all: 180_000, search: 1_800_000 };
const SEARCHED_MESSAGES = 1_000_000;

const [command, stateDir] = process.argv.slice(2);
if (command === 'serve-acceptance' && stateDir !== undefined) {
  // the other side of a figure of `acceptance-figures.ts`; ended by it
  console.log(JSON.stringify({ url: await serveAcceptance(benchStateAt(stateDir)) }));
} else {
  const isSearch = command === 'search';
  const limitMs = isSearch ? LIMIT_MS.search : LIMIT_MS.all;
  setTimeout(() => {
    console.error(`bench: not done in ${limitMs / 60_000} minutes, given up`);
    process.exit(1);
  }, limitMs).unref();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  if (isSearch) await measureSearches(Number(stateDir ?? SEARCHED_MESSAGES));
  else await measureEverything();
}

async function measureEverything(): Promise<void> {
  const figures = await measureAll();
  console.error(formatFigures(figures));
  console.log(JSON.stringify(figures, null, 2));
}

/** `npm run bench -- search [messages]`: takes some minutes and is no part of the whole. */
async function measureSearches(messages: number): Promise<void> {
  const figures = await step(`search, ${messages} messages`, () => measureSearch(messages));
  console.error(formatSearch(figures));
  console.log(JSON.stringify(figures, null, 2));
}

async function measureAll(): Promise<Figures> {
  ensureBuilt();
  return {
    measuredAt: new Date().toISOString(),
    machine: { cores: cpus().length, node: process.version, platform: process.platform },
    start: await step('start and memory', measureStarts),
    list: [
      await step('sessions_list, 100 sessions', () => measureList(100)),
      await step('sessions_list, 100,000 sessions', () => measureList(100_000)),
    ],
    send: {
      scripted: await step('sessions_send, scripted runtime', measureScriptedSends),
      model: await step('sessions_send, instant model', measureModelSends),
    },
    acceptance: await step('acceptance', measureAcceptance),
    transcript: await step('long transcript', () => measureTranscript(5000)),
    fanOut: await step('lists under a fan-out', measureFanOut),
  };
}

async function step<T>(name: string, measure: () => Promise<T>): Promise<T> {
  const before = performance.now();
  const figure = await measure();
  console.error(`${name}: measured in ${((performance.now() - before) / 1000).toFixed(1)} s`);
  return figure;
}
