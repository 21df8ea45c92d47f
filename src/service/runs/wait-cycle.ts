/** The graph of waits over lanes (A11). */
import { waitCycleText } from '../../core/loops.ts';
import type { Refusal } from '../../core/refusals.ts';
import type { ReadTx } from '../../store/store.ts';

/** Returns what refuses a wait of lane `from` for lane `to`: that it would close a cycle; else undefined. */
export async function cycleRefusal(
  tx: ReadTx,
  lanes: { from: string; to: string },
): Promise<Refusal | undefined> {
  const cycle = await findCycle(tx, lanes);
  return cycle && { status: 'error', error: waitCycleText(cycle), rule: 'wait_cycle' };
}

/**
 * Returns the lanes of a cycle that a wait of lane `from` for lane `to` would close, beginning and
 * ending with `from`; undefined when it closes none. A lane may wait for several others.
 */
async function findCycle(
  tx: ReadTx,
  { from, to }: { from: string; to: string },
): Promise<string[] | undefined> {
  const seen = new Set<string>();
  const open: string[][] = [[from, to]];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const key = path.at(-1) ?? from;
    if (key === from) return path;
    if (seen.has(key)) continue;
    seen.add(key);
    for (const wait of await tx.waits.openOfLane(key)) open.push([...path, wait.targetKey]);
  }
  return undefined;
}
