/** Rows whose JSON cannot be read: each is said once and counted, and whoever reads goes on without it. */
import type { Store } from '../store/store.ts';
import type { ServiceContext } from './context.ts';

/** Names a value of the store. */
export interface RowPlace {
  /** `table.column` */
  column: string;
  /** key of the row */
  id: string;
}

/** Told of a value that cannot be read; the reader leaves it out. */
export type OnUnreadable = (place: RowPlace) => void;

/** Beyond so many a log line more says nothing new. */
const MAX_REMEMBERED = 10_000;
/** By store, so that every reader of a store counts a row once. */
const seenIn = new WeakMap<Store, Set<string>>();

/** Returns what a reader of this store tells of a row; the log holds its place, never its content. */
export function unreadableReporter({
  store,
  logger,
}: Pick<ServiceContext, 'store' | 'logger'>): OnUnreadable {
  const seen = seenIn.get(store) ?? new Set<string>();
  seenIn.set(store, seen);
  return ({ column, id }) => {
    const name = `${column} ${id}`;
    if (seen.has(name) || seen.size >= MAX_REMEMBERED) return;
    seen.add(name);
    logger.error({ column, id }, 'a row cannot be read and is left out; see "trunkline doctor"');
  };
}

/** Returns how many values could not be read since the store was opened. */
export function countUnreadable(store: Store): number {
  return seenIn.get(store)?.size ?? 0;
}
