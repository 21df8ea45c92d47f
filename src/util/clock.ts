/** Wall time in epoch milliseconds. Passed in, so that tests own the time. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** The longest delay a Node timer keeps; a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
