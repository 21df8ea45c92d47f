const UNITS: readonly [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
];

/** Returns how long ago something was, in its largest unit: `4m ago`, `now`. */
export function formatAge(at: number, now: number): string {
  const ms = now - at;
  const unit = UNITS.find(([, size]) => ms >= size);
  return unit === undefined ? 'now' : `${Math.floor(ms / unit[1])}${unit[0]} ago`;
}
