import { spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { createBenchState } from './bench-state.ts';
import { type GatewayProgram, residentMb, startProgram } from './gateway-program.ts';
import { type Spread, spreadOf } from './statistics.ts';

/** Figures 1 and 2: a new process on a state directory that exists, and what it holds when nobody asks anything. */
export interface StartFigures {
  startToReadyMs: Spread;
  /** the same machine starting and ending a Node that does nothing, in turn with the above */
  bareNodeMs: Spread;
  /** resident set 3 s after ready */
  idleMemoryMb: Spread;
}

const STARTS = 7;
const IDLE_STARTS = 2;
const SETTLE_MS = 3000;

/** Starts the program several times, one after another. */
export async function measureStarts(): Promise<StartFigures> {
  const state = createBenchState();
  const ready: number[] = [];
  const memory: number[] = [];
  const bare: number[] = [];
  try {
    // the first start makes the database, and compiles what the later ones find in the cache
    await (await startProgram(state.stateDir)).stop();
    for (let at = 0; at < STARTS; at += 1) {
      bare.push(startBareNode());
      const program = await startProgram(state.stateDir);
      try {
        ready.push(program.readyMs);
        if (at < IDLE_STARTS) memory.push(await idleMemoryOf(program));
      } finally {
        await program.stop();
      }
    }
  } finally {
    state.remove();
  }
  return {
    startToReadyMs: spreadOf(ready),
    bareNodeMs: spreadOf(bare),
    idleMemoryMb: spreadOf(memory),
  };
}

async function idleMemoryOf({ pid }: GatewayProgram): Promise<number> {
  await delay(SETTLE_MS);
  return residentMb(pid);
}

function startBareNode(): number {
  const before = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - before;
}
