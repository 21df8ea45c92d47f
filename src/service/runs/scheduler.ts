/** Starts claimed runs as slots allow, and again whenever a lane or a slot comes free. */
import type { RunClass } from '../../protocol/words.ts';
import { RUN_CLASSES } from '../../protocol/words.ts';
import { backoffMs } from '../../util/backoff.ts';
import { MAX_TIMER_MS } from '../../util/clock.ts';
import type { ActiveRuns } from './active-runs.ts';
import { claimRun, type ClaimedRun } from './claim-run.ts';
import type { RunContext } from '../context.ts';
import { executeRun } from './execute-run.ts';
import { watchInterrupts } from './interrupts.ts';
import type { Slots } from './slots.ts';

export interface Scheduler {
  start(): void;
  /**
   * Claims nothing more and resolves when a claim under way is an active run. Active runs go on; the
   * caller waits for them or aborts them.
   */
  stop(): Promise<void>;
  /** Looks for work now: a slot has come free. */
  wake(): void;
}

/** Returns the scheduler of this process. */
export function createScheduler(
  context: RunContext,
  { activeRuns, slots }: { activeRuns: ActiveRuns; slots: Slots },
): Scheduler {
  let state: 'idle' | 'looking' | 'look-again' | 'stopped' = 'stopped';
  let stopSignals: (() => void) | undefined;
  let looking: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const is = (asked: typeof state): boolean => state === asked;

  const perform = async (claimed: ClaimedRun): Promise<void> => {
    const { runId, runClass } = claimed.run;
    const active = activeRuns.add({ runId, runClass, fence: claimed.fence });
    await executeRun(context, { active, claimed });
    activeRuns.remove(runId);
    slots.give(runClass);
    wake();
  };
  const claim = async (runClasses: readonly RunClass[]): Promise<ClaimedRun | undefined> => {
    // What is claimed without a lease belongs to the others; the store wakes us when it has one again.
    if (context.store.shared?.holdsLease() === false) return undefined;
    return claimRun(context, runClasses).catch((error: unknown) => {
      context.logger.error({ err: error }, 'no run could be claimed; tried again');
      setTimeout(wake, backoffMs(0));
      return undefined;
    });
  };
  /** Claims until no class has both a slot and work. */
  const fill = async (): Promise<void> => {
    while (!is('stopped')) {
      const reserved = RUN_CLASSES.filter((runClass) => slots.tryTake(runClass));
      const claimed = await claim(reserved);
      for (const runClass of reserved) {
        if (runClass !== claimed?.run.runClass) slots.give(runClass);
      }
      if (claimed === undefined) return;
      void perform(claimed);
    }
  };
  /** Lanes that wait for quiet come ready by time alone: those that were not ready at `since`, when claims began. */
  const armTimer = async (since: number): Promise<void> => {
    clearTimeout(timer);
    const at = await nextReadyAt(context, since);
    if (at === undefined || is('stopped')) return;
    timer = setTimeout(wake, Math.min(Math.max(1, at - context.clock.now()), MAX_TIMER_MS));
  };
  const lookUntilQuiet = async (): Promise<void> => {
    do {
      state = 'looking';
      const since = context.clock.now();
      await fill();
      await armTimer(since);
    } while (is('look-again'));
    if (!is('stopped')) state = 'idle';
  };
  const wake = (): void => {
    if (state === 'looking') state = 'look-again';
    if (state === 'idle') looking = lookUntilQuiet();
  };
  return {
    wake,
    start: () => {
      state = 'idle';
      const stopLanes = context.store.onSignal((signal) => {
        if (signal.type === 'lane' || signal.type === 'resync') wake();
      });
      const stopInterrupts = watchInterrupts(context, activeRuns);
      stopSignals = () => {
        stopLanes();
        stopInterrupts();
      };
      wake();
    },
    stop: () => {
      state = 'stopped';
      clearTimeout(timer);
      stopSignals?.();
      return looking;
    },
  };
}

/** When the next lane comes ready that was not at `since`; undefined when there is none. */
function nextReadyAt(context: RunContext, since: number): Promise<number | undefined> {
  const reading = context.store.read(async (tx) => {
    const times = [];
    for (const runClass of RUN_CLASSES) {
      const at = await tx.lanes.nextReadyAt(runClass, since);
      if (at !== undefined) times.push(at);
    }
    return times.length === 0 ? undefined : Math.min(...times);
  });
  return reading.catch((error: unknown) => {
    context.logger.error({ err: error }, 'not looked for the next ready lane; tried again');
    return context.clock.now() + backoffMs(0);
  });
}
