import { EventEmitter } from 'node:events';
import {
  Logger as WorkerLogger,
  run,
  runMigrations,
  type Runner,
  type Task,
} from 'graphile-worker';
import pg from 'pg';
import { backoffMs } from '../../util/backoff.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { JobHandler, JobRunner } from '../jobs.ts';
import type { Store } from '../store.ts';
import type { JobEnvelope } from './graphile-jobs.ts';

/** Handlers are short, but for those that wait for a chat service. */
const CONCURRENCY = 16;
/** Jobs need one only while they are fetched and ended; one listens. */
const CONNECTIONS = 6;
/** Between two looks without a notification. */
const POLL_MS = 1000;
const START_AGAIN_MS = 2000;

export interface JobWorkerOptions {
  /** of the database itself: it listens */
  url: string;
  store: Pick<Store, 'write'>;
  clock: Clock;
  logger: Logger;
  handlers: Readonly<Record<string, JobHandler>>;
  /** Told who has jobs locked for this gateway, before it takes the first. */
  onWorker(workerId: string): void;
}

/** Brings the tables of the job worker up to date. */
export async function migrateJobs(url: string, logger: Logger): Promise<void> {
  const pool = createWorkerPool(url, 1);
  try {
    await runMigrations({ pgPool: pool, logger: toWorkerLogger(logger) });
  } finally {
    await pool.end();
  }
}

/** Returns a runner over graphile-worker: whichever gateway is free does the job. */
export function createJobWorker(options: JobWorkerOptions): JobRunner {
  const { logger } = options;
  let isStopped = true;
  let runner: Runner | undefined;
  let running: Promise<void> = Promise.resolve();
  let wakeUp: (() => void) | undefined;
  const runUntilStopped = async (): Promise<void> => {
    const pool = createWorkerPool(options.url, CONNECTIONS);
    while (!isStopped) {
      try {
        runner = await startWorker(pool, options);
        if (isStopped) await runner.stop();
        await runner.promise;
      } catch (error) {
        logger.error({ err: error }, 'the job worker broke off; started again');
      }
      if (isStopped) break;
      await new Promise<void>((resolve) => {
        wakeUp = resolve;
        setTimeout(resolve, START_AGAIN_MS).unref();
      });
    }
    await pool.end();
  };
  return {
    start: () => {
      isStopped = false;
      running = runUntilStopped();
    },
    stop: async () => {
      isStopped = true;
      wakeUp?.();
      await runner?.stop().catch(() => {});
      await running;
    },
  };
}

function startWorker(pool: pg.Pool, options: JobWorkerOptions): Promise<Runner> {
  const events = new EventEmitter();
  events.on('pool:create', ({ workerPool }: { workerPool: { id: string } }) =>
    options.onWorker(workerPool.id),
  );
  const taskList = Object.fromEntries(
    Object.entries(options.handlers).map(([kind, handler]) => [kind, toTask(handler, options)]),
  );
  return run({
    pgPool: pool,
    taskList,
    events,
    concurrency: CONCURRENCY,
    pollInterval: POLL_MS,
    noHandleSignals: true,
    // else a file `crontab` of the current folder would be read
    parsedCronItems: [],
    logger: toWorkerLogger(options.logger),
  });
}

/** A failed handler is tried again as on SQLite; only when that cannot be written the worker decides. */
function toTask(handler: JobHandler, { store, clock, logger }: JobWorkerOptions): Task {
  return async (envelope, { job: { key: jobKey } }) => {
    const { payload, attempts } = envelope as JobEnvelope;
    try {
      await handler(payload);
    } catch (error) {
      logger.error({ jobKey, attempts, err: error }, 'job failed; it is tried again');
      if (jobKey === null) return;
      const runAt = clock.now() + backoffMs(attempts);
      const failure = { error: error instanceof Error ? error.message : 'unknown', runAt };
      await store.write('retry-job', (tx) => tx.jobs.retry(jobKey, failure));
    }
  };
}

/** Without our reading of integers: the worker has its own. */
function createWorkerPool(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'trunkline jobs',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    connectionTimeoutMillis: 10_000,
    max,
  });
  pool.on('error', () => {});
  pool.on('connect', (client) => void client.on('error', () => {}));
  return pool;
}

function toWorkerLogger(logger: Logger): WorkerLogger {
  return new WorkerLogger(() => (level, message) => {
    if (level === 'error') logger.error({}, `job worker: ${message}`);
    else if (level === 'warning') logger.warn({}, `job worker: ${message}`);
    else logger.debug({}, `job worker: ${message}`);
  });
}
