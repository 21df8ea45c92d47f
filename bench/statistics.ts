/** Figures from samples. A busy machine shows in the spread, so every figure carries one. */

/** A median over repeats, with the least and the greatest of them. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

/** Returns the value below which `share` (0–1) of the samples lie. */
function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return sorted[at] ?? Number.NaN;
}

/** Returns median, least and greatest of one value per repeat. */
export function spreadOf(values: readonly number[]): Spread {
  return {
    median: round(quantile(values, 0.5)),
    low: round(Math.min(...values)),
    high: round(Math.max(...values)),
  };
}

/** Returns the spread of a quantile over blocks of samples. */
export function quantileSpread(blocks: readonly (readonly number[])[], share: number): Spread {
  return spreadOf(blocks.map((block) => quantile(block, share)));
}

/** Returns how long each of up to `count` calls took, ms, one after another; a slow machine does fewer. */
export async function timeEach(
  { count, withinMs }: { count: number; withinMs: number },
  call: () => unknown,
): Promise<number[]> {
  const samples: number[] = [];
  const end = performance.now() + withinMs;
  while (samples.length < count && (performance.now() < end || samples.length === 0)) {
    const before = performance.now();
    await call();
    samples.push(performance.now() - before);
  }
  return samples;
}

/** Times `blocks` blocks of calls. */
export async function timeBlocks(
  { blocks, ...block }: { blocks: number; count: number; withinMs: number },
  call: () => unknown,
): Promise<number[][]> {
  const timed: number[][] = [];
  while (timed.length < blocks) timed.push(await timeEach(block, call));
  return timed;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
