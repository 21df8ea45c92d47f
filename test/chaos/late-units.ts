/**
 * The way to the database hangs, then the gateway is paused: the steps of runs that were under way come
 * late. Others have gone on meanwhile, and this gateway has joined them again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Store } from '../../src/store/store.ts';
import { writeLedger } from './ledger.ts';
import { replacing } from './replacing.ts';

/** Sent to a gateway some time before its pause, so that there is something under way. */
export const HANG_SIGNAL = 'SIGUSR2';

/** All but the last one: a gateway joins again only when the ends of its runs are written or refused. */
const STEPS_OF_RUNS: ReadonlySet<string> = new Set([
  'plan-tools',
  'start-tool',
  'finish-tool',
  'append-tool-results',
]);
/** Then it is worth while to pause it. */
const ENOUGH_STEPS = 3;
const LOOK_MS = 50;
/** A look that comes so late was a pause, not a busy machine. */
const PAUSE_MS = 5000;
/** Without a pause it hangs no longer. */
const LONGEST_HANG_MS = 15_000;
/** It has the lease again by then, or the database is out of reach. */
const LONGEST_REJOIN_MS = 10_000;
const LATEST_MS = 700;

/** Returns the store behind a way that hangs at each signal; the ledger says when enough is under way. */
export function lateAfterPause(store: Store, ledger: string): Store {
  let hangsUntil = 0;
  let hanging = 0;
  process.on(HANG_SIGNAL, () => {
    hangsUntil = performance.now() + LONGEST_HANG_MS;
  });
  const hang = async (): Promise<void> => {
    hanging += 1;
    if (hanging === ENOUGH_STEPS) writeLedger(ledger, { type: 'hanging', pid: process.pid });
    while (performance.now() < hangsUntil) {
      const lookedAt = performance.now();
      await delay(LOOK_MS);
      if (performance.now() - lookedAt < PAUSE_MS) continue;
      hangsUntil = 0;
      await rejoined(store);
      await delay(Math.random() * LATEST_MS);
    }
    hanging -= 1;
  };
  return replacing(store, {
    write: async (unit, fn) => {
      if (STEPS_OF_RUNS.has(unit) && performance.now() < hangsUntil) await hang();
      return store.write(unit, fn);
    },
  });
}

/** Resolves when the gateway has joined the others again: what it had may be theirs by now. */
async function rejoined({ shared }: Store): Promise<void> {
  const endAt = performance.now() + LONGEST_REJOIN_MS;
  while (shared?.holdsLease() === false && performance.now() < endAt) await delay(LOOK_MS / 10);
}
