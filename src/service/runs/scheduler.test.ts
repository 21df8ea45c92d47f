import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionWorld } from '../../../test/helpers/session-world.ts';
import type { Store } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { acceptRun } from './accept-run.ts';
import { createActiveRuns } from './active-runs.ts';
import { createScheduler } from './scheduler.ts';
import { createSlots } from './slots.ts';

const KEY = 'agent:main:main';

test('[QU5] a lane whose quiet time ends between the claim and the look at the clock is not missed', async (t) => {
  const { context: base, time, add } = createSessionWorld(t);
  await add({ key: KEY });
  await base.store.write('accept', (tx) =>
    acceptRun(tx, {
      runId: 'r1',
      sessionKey: KEY,
      kind: 'message',
      text: 'x',
      purpose: 'message',
      runClass: 'main',
      rootRunId: 'r1',
      hops: 0,
      timeoutMs: 0,
      queue: { mode: 'collect', readyAt: tx.now + 1 },
    }),
  );
  const store: Store = {
    ...bound(base.store),
    write: async (unit, fn) => {
      const value = await base.store.write(unit, fn);
      if (unit === 'claim-run' && value === undefined) time.now += 1;
      return value;
    },
  };
  const context: RunContext = {
    ...base,
    store,
    bootId: 'boot',
    startedAt: time.now,
    channels: new Map(),
    toolsOf: () => Promise.resolve({ tools: new Map(), whyMissing: () => undefined }),
    runtimeFor: () => {
      throw new Error('no model here');
    },
  };
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  context.events.subscribe((event) => {
    if (event.type === 'ended') resolve(event.runId);
  });
  const activeRuns = createActiveRuns();
  const scheduler = createScheduler(context, { activeRuns, slots: createSlots(() => 1) });
  scheduler.start();
  assert.equal(await ended, 'r1');
  await scheduler.stop();
  await activeRuns.idle();
});

function bound(store: Store): Store {
  return {
    read: (fn) => store.read(fn),
    write: (unit, fn) => store.write(unit, fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
  };
}
