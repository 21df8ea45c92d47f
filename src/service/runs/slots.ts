/**
 * Concurrency slots per class of run (DESIGN 4). A run that waits for another gives its slot back and
 * takes one again, before new runs, when the wait is over.
 */
import type { RunClass } from '../../protocol/words.ts';

export interface Slots {
  /** Takes a slot when one is free. */
  tryTake(runClass: RunClass): boolean;
  /** Takes the next slot of the class, before any new run; at once when the signal aborts: the run only ends. */
  retake(runClass: RunClass, signal: AbortSignal): Promise<void>;
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
    retake: (runClass, signal) => {
      if (tryTake(runClass)) return Promise.resolve();
      return new Promise((resolve) => {
        const queue = resuming.get(runClass) ?? [];
        resuming.set(runClass, queue);
        const takeAnyway = (): void => {
          const at = queue.indexOf(resume);
          if (at >= 0) queue.splice(at, 1);
          used.set(runClass, usedOf(runClass) + 1);
          resolve();
        };
        const resume = (): void => {
          signal.removeEventListener('abort', takeAnyway);
          resolve();
        };
        if (signal.aborted) return takeAnyway();
        queue.push(resume);
        signal.addEventListener('abort', takeAnyway, { once: true });
      });
    },
    give: (runClass) => {
      const next = resuming.get(runClass)?.shift();
      if (next !== undefined) return next();
      used.set(runClass, usedOf(runClass) - 1);
    },
  };
}
