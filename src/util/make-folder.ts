import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it that are missing, or throws what the operating system says. Node's own
 * recursive call asks without end where a file system answers that a folder is missing which is there (`/proc`).
 */
export function makeFolder(path: string, { mode = 0o777 }: { mode?: number } = {}): void {
  const missing: string[] = [];
  for (let at = path; !isThere(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  if (missing.length === 0) makeOne(path, mode);
  for (const folder of missing.toReversed()) makeOne(folder, mode);
}

/** Somebody else may make the same folder at the same time. */
function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // what may not be looked at, or has a file in its path: making it says why
    return false;
  }
}
