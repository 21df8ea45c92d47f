/** The runs that this process owns right now. */
import type { LaneFence } from '../../store/lane-repository.ts';
import type { RunClass } from '../../protocol/words.ts';

/** Why a run is stopped from outside; `drain` leaves it for the next start. */
export type AbortCause = 'timeout' | 'aborted' | 'interrupted' | 'drain';

export interface ActiveRun {
  runId: string;
  runClass: RunClass;
  fence: LaneFence;
  signal: AbortSignal;
  /** first cause wins */
  abort(cause: AbortCause): void;
  cause(): AbortCause | undefined;
}

export interface ActiveRuns {
  add(run: Pick<ActiveRun, 'runId' | 'runClass' | 'fence'>): ActiveRun;
  remove(runId: string): void;
  get(runId: string): ActiveRun | undefined;
  all(): ActiveRun[];
  /** Resolves when no run is active. */
  idle(): Promise<void>;
}

/** Returns an empty registry. */
export function createActiveRuns(): ActiveRuns {
  const runs = new Map<string, ActiveRun>();
  let whenIdle: (() => void)[] = [];
  return {
    add: (run) => {
      const active = createActiveRun(run);
      runs.set(run.runId, active);
      return active;
    },
    remove: (runId) => {
      runs.delete(runId);
      if (runs.size > 0) return;
      for (const resolve of whenIdle) resolve();
      whenIdle = [];
    },
    get: (runId) => runs.get(runId),
    all: () => [...runs.values()],
    idle: () =>
      runs.size === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve)),
  };
}

function createActiveRun(run: Pick<ActiveRun, 'runId' | 'runClass' | 'fence'>): ActiveRun {
  const controller = new AbortController();
  let cause: AbortCause | undefined;
  return {
    ...run,
    signal: controller.signal,
    cause: () => cause,
    abort: (why) => {
      cause ??= why;
      controller.abort();
    },
  };
}
