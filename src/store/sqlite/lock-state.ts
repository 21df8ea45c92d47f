import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../protocol/errors.ts';
import { isBusy, toStoreError } from './to-store-error.ts';

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
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, 'trunkline.lock');
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: 0 });
    chmodSync(path, 0o600);
    lock.exec('begin exclusive');
  } catch (error) {
    lock?.close();
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
