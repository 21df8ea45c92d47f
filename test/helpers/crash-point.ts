/** A store that ends its own process with SIGKILL just before or just after a chosen commit. */
import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import type { Store } from '../../src/store/store.ts';

export interface CrashPoint {
  /** name of the unit of work */
  unit: string;
  /** the commit that it does not live to see, or the answer after it */
  when: 'before' | 'after';
  /** which one in the life of the process, from 1; a unit that found nothing to do is not counted */
  nth: number;
}

/** Reads `unit:before|after:n`. */
export function parseCrashPoint(text: string): CrashPoint {
  const match = /^(?<unit>[^:]+):(?<when>before|after):(?<nth>[1-9]\d*)$/.exec(text);
  const { unit, when, nth } = match?.groups ?? {};
  if (unit === undefined || nth === undefined) throw new Error(`not a crash point: ${text}`);
  return { unit, when: when === 'before' ? 'before' : 'after', nth: Number(nth) };
}

/** Returns the store with the crash point in it, and with one refusal of the first unit named `failing`. */
export function withCrashPoint(
  store: Store,
  { crash, failing }: { crash: CrashPoint | undefined; failing: string | undefined },
): Store {
  let seen = 0;
  let hasFailed = false;
  return {
    read: (fn) => store.read(fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
    shared: store.shared,
    async write(unit, fn) {
      if (unit === failing && !hasFailed) {
        hasFailed = true;
        throw new Error(`${unit} was made to fail once`);
      }
      if (unit !== crash?.unit) return store.write(unit, fn);
      let place: number | undefined;
      const value = await store.write(unit, async (tx) => {
        const result = await fn(tx);
        // A replayed group runs the unit again; it keeps its place.
        if (place === undefined && isStep(unit, result)) place = seen += 1;
        if (place === crash.nth && crash.when === 'before') die();
        return result;
      });
      if (place === crash.nth && crash.when === 'after') die();
      return value;
    },
  };
}

/** These are asked again and again, and answer undefined when there is nothing. */
function isStep(unit: string, result: unknown): boolean {
  return result !== undefined || (unit !== 'claim-run' && unit !== 'delivery-sending');
}

/** Calls by which attachments come and go. */
const FILE_CALLS = ['mkdir', 'open', 'rename', 'unlink', 'rmdir'] as const;

/**
 * Ends this process just before or just after a call of the file system that changes a folder of attachments;
 * these are done in folders that are held open. Opening something to read it is not counted.
 */
export function dieAtFileStep({ unit, when, nth }: CrashPoint): void {
  const call = FILE_CALLS.find((each) => each === unit);
  if (call === undefined) throw new Error(`not a call of the file system: ${unit}`);
  const original = fs[call] as (...args: unknown[]) => Promise<unknown>;
  let seen = 0;
  const watched = async (...args: unknown[]): Promise<unknown> => {
    const [path, flags] = args;
    const isStep =
      String(path).startsWith('/proc/self/fd/') &&
      (call !== 'open' || (Number(flags) & constants.O_CREAT) !== 0);
    const place = isStep ? (seen += 1) : 0;
    if (place === nth && when === 'before') die();
    const value = await original(...args);
    if (place === nth && when === 'after') die();
    return value;
  };
  Object.assign(fs, { [call]: watched });
  syncBuiltinESMExports();
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // Nothing may happen between the signal and its arrival.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  throw new Error('still alive');
}
