import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../protocol/errors.ts';
import { codeOf } from '../../util/error-code.ts';
import { makeFolder } from '../../util/make-folder.ts';
import { isBusy, isUnopenable, toStoreError } from './to-store-error.ts';

export interface StateLock {
  /** Gives the state directory free; a second call does nothing. */
  release(): void;
}

/** Kept reachable: a connection that is garbage collected is closed, and its lock is gone with it. */
const heldLocks = new Set<DatabaseSync>();

/**
 * Takes the state directory for this process, or throws `unavailable` when another process has it.
 * The lock is SQLite's own on a file of its own: the operating system drops it when the process
 * dies, however it dies. Contract: nobody else may open `trunkline.lock` in this process, because
 * closing any handle on the file drops the lock.
 */
export function lockState(dir: string): StateLock {
  makeDir(dir);
  const path = join(dir, 'trunkline.lock');
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: 0 });
    chmodSync(path, 0o600);
    lock.exec('begin exclusive');
  } catch (error) {
    lock?.close();
    if (isUnopenable(error))
      throw unusableDir(dir, { reason: 'cannot be written to', cause: error });
    if (!isBusy(error)) throw toStoreError(error, path);
    throw new GatewayError(
      'unavailable',
      `the state directory ${dir} is in use by another gateway or import; stop it first, or give another --state-dir`,
      { cause: error },
    );
  }
  const held = lock;
  heldLocks.add(held);
  return {
    release: () => {
      if (heldLocks.delete(held)) held.close();
    },
  };
}

function makeDir(dir: string): void {
  try {
    makeFolder(dir, { mode: 0o700 });
  } catch (cause) {
    const code = codeOf(cause) ?? 'unknown';
    throw unusableDir(dir, { reason: REASONS[code] ?? `cannot be made (${code})`, cause });
  }
}

const REASONS: Record<string, string> = {
  EEXIST: 'is a file',
  ENOTDIR: 'has a file in its path',
  EACCES: 'cannot be made: permission denied',
  EPERM: 'cannot be made: permission denied',
  ENOENT: 'cannot be made: its file system takes no folders there',
  EROFS: 'cannot be made: the file system is read-only',
};

function unusableDir(
  dir: string,
  { reason, cause }: { reason: string; cause: unknown },
): GatewayError {
  return new GatewayError(
    'config',
    `the state directory ${dir} ${reason}; give a directory that this user can write to with --state-dir`,
    { cause },
  );
}
