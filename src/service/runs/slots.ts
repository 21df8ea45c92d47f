/**
 * Concurrency slots per class of run (DESIGN 4). A run that waits for another gives its slot back and
 * takes one again, before new runs, when the wait is over.
 */
import type { RunClass } from '../../protocol/words.ts';

export interface Slots {
  /** Takes a slot when one is free. */
  tryTake(runClass: RunClass): boolean;
  /** Takes the next slot of the class, before any new run. */
  retake(runClass: RunClass): Promise<void>;
  give(runClass: RunClass): void;
}

/** Returns slots under caps that are read at each use, so that a reload takes effect. */
export function createSlots(capOf: (runClass: RunClass) => number): Slots {
  const used = new Map<RunClass, number>();
  const resuming = new Map<RunClass, (() => void)[]>();
  const usedOf = (runClass: RunClass): number => used.get(runClass) ?? 0;
  const tryTake = (runClass: RunClass): boolean => {
    if (usedOf(runClass) >= capOf(runClass)) return false;
    used.set(runClass, usedOf(runClass) + 1);
    return true;
  };
  return {
    tryTake,
    retake: (runClass) => {
      if (tryTake(runClass)) return Promise.resolve();
      return new Promise((resolve) => {
        resuming.set(runClass, [...(resuming.get(runClass) ?? []), resolve]);
      });
    },
    give: (runClass) => {
      const next = resuming.get(runClass)?.shift();
      if (next !== undefined) return next();
      used.set(runClass, usedOf(runClass) - 1);
    },
  };
}
