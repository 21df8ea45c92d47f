import { GatewayError } from '../../protocol/errors.ts';

/** Primary result codes that say the database cannot be used now, whatever the statement. */
const UNUSABLE: Readonly<Record<number, string>> = {
  5: 'it is locked by another process',
  6: 'it is locked',
  7: 'out of memory',
  8: 'it cannot be written to',
  10: 'the disk reports an error',
  11: 'the file is damaged',
  13: 'the disk is full',
  14: 'the file cannot be opened',
  26: 'the file is not a database',
};

interface SqliteError extends Error {
  errcode: number;
  errstr: string;
}

/** What helps against damage; nothing is repaired or thrown away on its own (BR-087). */
const DAMAGE_HELP =
  '; "trunkline doctor" says what is damaged, "trunkline restore FILE" goes back to a backup';
const DAMAGED: readonly number[] = [11, 26];

/** Returns `unavailable` naming the file when the database cannot be used, else the error itself. */
export function toStoreError(error: unknown, path: string): unknown {
  if (!isSqliteError(error)) return error;
  const code = error.errcode & 0xff;
  const reason = UNUSABLE[code];
  if (reason === undefined) return error;
  const help = DAMAGED.includes(code) ? DAMAGE_HELP : '';
  return new GatewayError('unavailable', `the store ${path} cannot be used: ${reason}${help}`, {
    details: { sqliteCode: error.errcode },
    cause: error,
  });
}

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && (error.errcode & 0xff) === 5;
}

/** Whether the file could not be opened, or only for reading. */
export function isUnopenable(error: unknown): boolean {
  return isSqliteError(error) && [8, 14].includes(error.errcode & 0xff);
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
}
