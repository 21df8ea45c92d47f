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

/** Returns `unavailable` naming the file when the database cannot be used, else the error itself. */
export function toStoreError(error: unknown, path: string): unknown {
  if (!isSqliteError(error)) return error;
  const reason = UNUSABLE[error.errcode & 0xff];
  if (reason === undefined) return error;
  return new GatewayError('unavailable', `the store ${path} cannot be used: ${reason}`, {
    details: { sqliteCode: error.errcode },
    cause: error,
  });
}

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && (error.errcode & 0xff) === 5;
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
}
