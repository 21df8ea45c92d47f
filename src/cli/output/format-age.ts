const UNITS: readonly [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

/** Returns how long ago something was, in its largest unit: `4m ago`, `now`; nothing for what is no time. */
export function formatAge(at: unknown, now: number): string {
  if (typeof at !== 'number') return '';
  const ms = now - at;
  const unit = UNITS.find(([, size]) => ms >= size);
  return unit === undefined ? 'now' : `${Math.floor(ms / unit[1])}${unit[0]} ago`;
}

/** Returns when something was, by UTC; nothing for what is no time. */
export function formatTime(at: unknown): string {
  return typeof at === 'number' ? new Date(at).toISOString() : '';
}
