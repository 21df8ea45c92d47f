/**
 * `npm run bench`: the figures of `docs/performance.md`, as JSON on standard output and as a table
 * on standard error. Uses loopback and temporary folders only.
 */
import { cpus } from 'node:os';
import { measureAcceptance } from './acceptance-figures.ts';
import { serveAcceptance } from './acceptance-services.ts';
import { benchStateAt } from './bench-state.ts';
import { measureFanOut } from './fan-out-figures.ts';
import { type Figures, formatFigures } from './format-figures.ts';
import { ensureBuilt } from './gateway-program.ts';
import { measureList } from './list-figures.ts';
import { measureModelSends, measureScriptedSends } from './send-figures.ts';
import { measureStarts } from './start-figures.ts';
import { measureTranscript } from './transcript-figures.ts';

/** The whole bench ends by then, whatever hangs. */
const LIMIT_MS = 180_000;

const [command, stateDir] = process.argv.slice(2);
if (command === 'serve-acceptance' && stateDir !== undefined) {
  // the other side of a figure of `acceptance-figures.ts`; ended by it
  console.log(JSON.stringify({ url: await serveAcceptance(benchStateAt(stateDir)) }));
} else {
  setTimeout(() => {
    console.error('bench: not done in three minutes, given up');
    process.exit(1);
  }, LIMIT_MS).unref();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const figures = await measureAll();
  console.error(formatFigures(figures));
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
