/** Days of UTC, so that a sum by day is the same whoever asks for it, and where. */

const MS_PER_DAY = 86_400_000;

/** Returns the day of a moment, counted from 1970-01-01. */
export function dayOf(at: number): number {
  return Math.floor(at / MS_PER_DAY);
}

/** Returns the day of a text `YYYY-MM-DD`, or undefined when there is no such day. */
export function parseDay(text: string): number | undefined {
  const at = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(at) || formatDay(dayOf(at)) !== text ? undefined : dayOf(at);
}

/** Returns the day as `YYYY-MM-DD`. */
export function formatDay(day: number): string {
  return new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
}
