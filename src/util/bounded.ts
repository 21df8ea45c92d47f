/** Numbers from outside, brought into a range that every store keeps exactly. */

/** Returns a whole number from 0 to `max`; what is no number counts as 0. */
export function wholeUpTo(value: number, max: number): number {
  if (Number.isNaN(value) || value <= 0) return 0;
  return Math.min(Math.ceil(value), max);
}
