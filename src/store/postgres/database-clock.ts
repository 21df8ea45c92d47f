import type { Clock } from '../../util/clock.ts';

/** An answer that took longer says little: the process may have been paused meanwhile. */
const VAGUE_MS = 1000;

/** Tells the time of the database between two times of asking, by the monotonic clock of this process. */
export class DatabaseClock implements Clock {
  #isSet = false;
  #offsetMs = Date.now() - performance.now();

  now(): number {
    return Math.floor(performance.now() + this.#offsetMs);
  }

  /** The database said `now` at some time between `askedAt` and this call. */
  set(now: number, askedAt: number): void {
    const isVague = performance.now() - askedAt > VAGUE_MS;
    if (isVague && this.#isSet) return;
    this.#isSet = true;
    this.#offsetMs = now - (askedAt + performance.now()) / 2;
  }
}
