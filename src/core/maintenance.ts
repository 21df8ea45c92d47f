/** What `session.maintenance` means at a time: what is old enough to go (B11.1). */
import type { Config } from '../protocol/options/config.ts';

export interface MaintenancePlan {
  /** false: what is not deleted by hand or by its spawn is named, and stays */
  enforces: boolean;
  /** deleted transcripts go that were deleted at that time or before; epoch ms */
  deletedUntil: number;
  /** archived sessions go that were archived by then */
  archivedUntil: number;
  /** transcripts from before a reset go that ended by then; undefined = never */
  endedUntil: number | undefined;
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Returns a duration such as `30d` or `12h` in ms; a bare number is days. It must have passed the schema. */
export function durationMs(given: string | number): number {
  const [, amount = '0', unit = 'd'] = /^([\d.]+)\s*([a-z]*)$/.exec(String(given).trim()) ?? [];
  return Number(amount) * (UNIT_MS[unit === '' ? 'd' : unit] ?? 0);
}

/** Returns what may go at `now`. Transcripts from before a reset have the age of archived sessions unless it is set. */
export function planMaintenance(
  { mode, pruneAfter, resetArchiveRetention }: Config['session']['maintenance'],
  now: number,
): MaintenancePlan {
  const keepMs = durationMs(pruneAfter);
  const resetMs =
    typeof resetArchiveRetention === 'boolean' || resetArchiveRetention === undefined
      ? keepMs
      : durationMs(resetArchiveRetention);
  return {
    enforces: mode === 'enforce',
    deletedUntil: now - keepMs,
    archivedUntil: now - keepMs,
    endedUntil: resetArchiveRetention === false ? undefined : now - resetMs,
  };
}
