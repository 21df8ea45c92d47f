import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openSqliteStore } from '../store/sqlite/open-sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { silentLogger } from '../util/logger.ts';
import { createJobRunner } from './job-runner.ts';

const DUE_AT = 1000;

test('a job that falls due while the runner looks is not forgotten', async (t) => {
  const store = openStore(t);
  await addJob(store);
  // Each look at the clock is one millisecond later: too early for the job, then not any more.
  const time = { now: DUE_AT - 1 };
  const clock = { now: () => time.now++ };
  const done = Promise.withResolvers<string>();
  const handlers = {
    probe: async ({ name = '' }: Record<string, string>) => {
      await store.write('end-probe', (tx) => tx.jobs.remove('probe'));
      done.resolve(name);
    },
  };
  const jobs = createJobRunner({ store, clock, logger: silentLogger, handlers });
  jobs.start();
  t.after(() => jobs.stop());
  assert.equal(await done.promise, 'a');
});

test('a job whose handler fails is tried again, and says what went wrong meanwhile', async (t) => {
  const store = openStore(t);
  await addJob(store);
  const time = { now: DUE_AT };
  const failed = Promise.withResolvers<void>();
  const handlers = { probe: () => Promise.reject(new Error('no luck')) };
  const watched: Store = {
    ...bound(store),
    write: async (unit, fn) => {
      const value = await store.write(unit, fn);
      if (unit === 'retry-job') failed.resolve();
      return value;
    },
  };
  const clock = { now: () => time.now };
  const jobs = createJobRunner({ store: watched, clock, logger: silentLogger, handlers });
  jobs.start();
  t.after(() => jobs.stop());
  await failed.promise;
  const [job] = await store.read((tx) => tx.jobs.due(DUE_AT + 1000, 10));
  assert.deepEqual([job?.runAt, job?.lastError, job?.attempts], [DUE_AT + 1000, 'no luck', 1]);
});

function bound(store: Store): Store {
  return {
    read: (fn) => store.read(fn),
    write: (unit, fn) => store.write(unit, fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
  };
}

function openStore(t: TestContext): Store {
  const folder = mkdtempSync(join(tmpdir(), 'job-runner-'));
  const clock = { now: () => 0 };
  const store = openSqliteStore({ path: join(folder, 'test.db'), clock, logger: silentLogger });
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return store;
}

function addJob(store: Store): Promise<void> {
  const payloadJson = JSON.stringify({ name: 'a' });
  return store.write('add-job', (tx) =>
    tx.jobs.add({ jobKey: 'probe', kind: 'probe', payloadJson, runAt: DUE_AT }),
  );
}
