/** Feeds generated inputs to one grammar, in portions that each start on a fresh world. */
import fc from 'fast-check';
import { startFuzzWorld } from './fuzz-world.ts';
import type { Grammar, GrammarName } from './grammar.ts';
import { configGrammar } from './grammars/config.ts';
import { cursorsGrammar } from './grammars/cursors.ts';
import { framesGrammar } from './grammars/frames.ts';
import { keysGrammar } from './grammars/keys.ts';
import { mcpGrammar } from './grammars/mcp.ts';
import { methodsGrammar } from './grammars/methods.ts';
import { toolsGrammar } from './grammars/tools.ts';
import { startWatchdog } from './watchdog.ts';

export interface FuzzReport {
  inputs: number;
  ms: number;
  /** highest heap after a portion, MiB */
  heapMb: number;
  /** undefined = every input kept the rules */
  failure: FuzzFailure | undefined;
}
export interface FuzzFailure {
  /** shrunk */
  input: unknown;
  error: unknown;
  /** repeats it */
  command: string;
}

export interface FuzzOptions {
  grammar: GrammarName;
  seed: number;
  inputs: number;
  /** what is fed in place of the grammar's own; for the test of the harness */
  replace?: Pick<Grammar<unknown>, 'feed'>;
}

/** Inputs that share a world: what was accepted stays in it. */
const PORTION = 5000;
/** More than that after a portion is a leak. */
const HEAP_MAX_MB = 1024;

/** Feeds that many inputs, and stops at the first that breaks a rule. */
export async function runFuzz({
  grammar,
  seed,
  inputs,
  replace,
}: FuzzOptions): Promise<FuzzReport> {
  const startedAt = performance.now();
  const report: FuzzReport = { inputs: 0, ms: 0, heapMb: 0, failure: undefined };
  for (let portion = 0; report.inputs < inputs && report.failure === undefined; portion += 1) {
    const count = Math.min(PORTION, inputs - report.inputs);
    report.failure = await feedPortion({
      grammar,
      seed: seed + portion,
      inputs: count,
      ...(replace && { replace }),
    });
    report.inputs += count;
    report.heapMb = Math.max(report.heapMb, Math.round(process.memoryUsage().heapUsed / 2 ** 20));
    if (report.heapMb > HEAP_MAX_MB)
      throw new Error(`${grammar}: the heap has ${report.heapMb} MiB`);
  }
  return { ...report, ms: performance.now() - startedAt };
}

async function feedPortion({
  grammar,
  seed,
  inputs: count,
  replace,
}: FuzzOptions): Promise<FuzzFailure | undefined> {
  const command = `npm run fuzz -- --grammar ${grammar} --seed ${seed} --inputs ${count}`;
  const world = await startFuzzWorld();
  const watchdog = startWatchdog(command);
  let rejection: unknown;
  const onRejection = (error: unknown): void => void (rejection ??= error);
  process.on('unhandledRejection', onRejection);
  try {
    const own = (await createGrammar(grammar, world)) as Grammar<unknown>;
    const { inputs, feed } = { ...own, ...replace };
    const property = fc.asyncProperty(inputs, async (input) => {
      watchdog.beat();
      await feed(input);
      if (rejection !== undefined) throw rejection;
    });
    const result = await fc.check(property, { seed, numRuns: count });
    if (!result.failed) return undefined;
    return { input: result.counterexample?.[0], error: result.errorInstance, command };
  } finally {
    process.off('unhandledRejection', onRejection);
    watchdog.stop();
    await world.stop();
  }
}

type World = Awaited<ReturnType<typeof startFuzzWorld>>;

function createGrammar(name: GrammarName, world: World): unknown {
  switch (name) {
    case 'frames':
      return framesGrammar(world);
    case 'tools':
      return toolsGrammar(world);
    case 'keys':
      return keysGrammar(world);
    case 'config':
      return configGrammar();
    case 'cursors':
      return cursorsGrammar(world);
    case 'methods':
      return methodsGrammar(world);
    case 'mcp':
      return mcpGrammar(world);
  }
}
