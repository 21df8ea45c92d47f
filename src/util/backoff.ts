/** Returns the delay before attempt `attempts + 1`: doubling from one second, at most a minute. */
export function backoffMs(attempts: number): number {
  return Math.min(1000 * 2 ** Math.max(0, attempts), 60_000);
}
