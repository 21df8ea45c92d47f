import { backoffMs } from '../../util/backoff.ts';

/** One that dies sooner is taken for broken, not for unlucky. */
const STEADY_MS = 60_000;

/** When a server that has failed is started again: later each time, unless it had lived for a while. */
export class RetryPause {
  #failures = 0;
  #until = 0;
  #hasFailedToStart = false;

  /** Whether it may be started now. */
  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  /** Whether its last start has failed: then nobody should wait for the next one. */
  get hasFailedToStart(): boolean {
    return this.#hasFailedToStart;
  }

  started(): void {
    this.#hasFailedToStart = false;
  }

  /** Returns for how many ms it is left alone. */
  failedToStart(): number {
    this.#hasFailedToStart = true;
    return this.#pause(backoffMs(this.#failures));
  }

  /** Returns for how many ms it is left alone. */
  died(livedMs: number): number {
    this.ended(livedMs);
    return this.#pause(this.#failures === 0 ? 0 : backoffMs(this.#failures));
  }

  /** We ended it ourselves, and it is left alone for no time. After a long life, what failed before says nothing any more. */
  ended(livedMs: number): void {
    if (livedMs >= STEADY_MS) this.#failures = 0;
  }

  #pause(ms: number): number {
    this.#failures += 1;
    this.#until = performance.now() + ms;
    return ms;
  }
}
