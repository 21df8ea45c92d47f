import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { toStoreError } from './to-store-error.ts';

/** Pages copied at a time; other work of the process goes on in between. */
const PAGES_PER_STEP = 1024;

/**
 * Copies the committed state of a database into one file of its own, which is there whole or not at
 * all. Other processes go on writing meanwhile: the copy is of one moment. Never overwrites `to`
 * in part; whether it may be replaced is the caller's business.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const partial = `${to}.partial`;
  removeDatabase(partial);
  const source = openReadOnly(from);
  try {
    // An open snapshot: without it a commit of another process would start the copy anew, for ever on a busy store.
    source.exec('begin');
    source.prepare('select count(*) from sqlite_schema').get();
    createPrivate(partial);
    await backup(source, partial, { rate: PAGES_PER_STEP });
    makeOneFile(partial);
    publish(partial, to);
  } catch (error) {
    removeDatabase(partial);
    throw toStoreError(error, from);
  } finally {
    source.close();
  }
}

/** Makes an empty file that only its owner can read; SQLite takes it for a new database. */
export function createPrivate(path: string): void {
  closeSync(openSync(path, 'wx', 0o600));
}

/** Removes a database that nobody uses, with its log and index files. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal'])
    rmSync(`${path}${suffix}`, { force: true });
}

/** Puts a finished copy into its place, so that a power cut leaves the old one or the new one. */
export function publish(partial: string, to: string): void {
  syncPath(partial);
  renameSync(partial, to);
  syncPath(dirname(to));
}

function openReadOnly(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly: true });
  } catch (error) {
    throw toStoreError(error, path);
  }
}

/** A copy of a database in write-ahead mode would grow files beside it at the first look. */
function makeOneFile(path: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec('pragma journal_mode = delete');
  } finally {
    db.close();
  }
}

function syncPath(path: string): void {
  if (!existsSync(path)) return;
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
