import { join } from 'node:path';
import type { LoadedConfig } from '../config/load-config.ts';
import { lockState } from '../store/sqlite/lock-state.ts';
import { openSqliteStore } from '../store/sqlite/open-sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { type Clock, systemClock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';

export interface OpenedStore {
  store: Store;
  /** Closes the store and gives the state directory free. */
  release(): Promise<void>;
}

/**
 * Opens the store of a configuration: the Postgres database that the environment names, else the file
 * in the state directory, which then belongs to this process alone. Rejects with one clear error.
 */
export async function openStore(
  { database, stateDir }: Pick<LoadedConfig, 'database' | 'stateDir'>,
  {
    logger,
    bootId,
    clock = systemClock,
  }: { logger: Logger; bootId: string; clock?: Clock | undefined },
): Promise<OpenedStore> {
  if (database !== undefined) {
    // loaded when it is used: the driver costs every other start 50 ms
    const { openPostgresStore } = await import('../store/postgres/open-postgres-store.ts');
    const store = await openPostgresStore({ ...database, logger, bootId });
    return { store, release: () => store.close() };
  }
  const lock = lockState(stateDir);
  try {
    const path = join(stateDir, 'trunkline.db');
    const store = openSqliteStore({ path, clock, logger, bootId });
    const release = async (): Promise<void> => {
      await store.close();
      lock.release();
    };
    return { store, release };
  } catch (error) {
    lock.release();
    throw error;
  }
}
