/** Runs due jobs: short, idempotent steps that end their own row in the transaction of their effect. */
import type { JobHandler, JobRunner } from '../store/jobs.ts';
import type { JobRow } from '../store/follow-up-repository.ts';
import type { Store } from '../store/store.ts';
import { backoffMs } from '../util/backoff.ts';
import { type Clock, MAX_TIMER_MS } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

/** Started at one look. */
const BATCH = 64;
/** A chat service that hangs takes the places of its chats, and not of others. */
const MOST_IN_FLIGHT = 1024;

/** Returns a runner that sleeps until the next job is due or a commit tells of a new one. */
export function createJobRunner(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  handlers: Readonly<Record<string, JobHandler>>;
}): JobRunner {
  const { store, clock, logger, handlers } = deps;
  const inFlight = new Map<string, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let stopSignals: (() => void) | undefined;
  let state: 'idle' | 'looking' | 'look-again' | 'stopped' = 'stopped';

  // Through a function, because the state changes while others are awaited.
  const is = (asked: typeof state): boolean => state === asked;
  const perform = async (job: JobRow): Promise<void> => {
    try {
      const handler = handlers[job.kind];
      if (handler === undefined) throw new Error(`no handler for job kind ${job.kind}`);
      await handler(JSON.parse(job.payloadJson) as Record<string, string>);
    } catch (error) {
      logger.error(
        { jobKey: job.jobKey, attempts: job.attempts, err: error },
        'job failed; it is tried again',
      );
      const runAt = clock.now() + backoffMs(job.attempts);
      const failure = { error: error instanceof Error ? error.message : 'unknown', runAt };
      await store
        .write('retry-job', (tx) => tx.jobs.retry(job.jobKey, failure))
        .catch(() => {
          // The row stays as it is; the next look finds it due again.
        });
    } finally {
      inFlight.delete(job.jobKey);
      look();
    }
  };
  const lookOnce = async (): Promise<void> => {
    // One time for all of it: a job that falls due in between is neither started here nor forgotten.
    const now = clock.now();
    const { due, nextAt } = await store.read(async (tx) => ({
      // Those that are going are due as well.
      due: await tx.jobs.due(now, Math.min(inFlight.size + BATCH, MOST_IN_FLIGHT)),
      nextAt: await tx.jobs.nextRunAt(),
    }));
    for (const job of due) {
      if (!inFlight.has(job.jobKey)) inFlight.set(job.jobKey, perform(job));
    }
    clearTimeout(timer);
    // What is due by then is being done, and its end looks again.
    if (nextAt === undefined || nextAt <= now || is('stopped')) return;
    timer = setTimeout(look, Math.min(nextAt - now, MAX_TIMER_MS));
  };
  const lookUntilQuiet = async (): Promise<void> => {
    try {
      do {
        state = 'looking';
        await lookOnce();
      } while (is('look-again'));
    } catch (error) {
      logger.error({ err: error }, 'the job runner could not reach the store');
      timer = setTimeout(look, backoffMs(0));
    }
    if (!is('stopped')) state = 'idle';
  };
  const look = (): void => {
    if (state === 'looking') state = 'look-again';
    if (state === 'idle') void lookUntilQuiet();
  };
  return {
    start: () => {
      state = 'idle';
      stopSignals = store.onSignal((signal) => {
        if (signal.type === 'job' || signal.type === 'resync') look();
      });
      look();
    },
    stop: async () => {
      state = 'stopped';
      stopSignals?.();
      clearTimeout(timer);
      await Promise.all(inFlight.values());
    },
  };
}
