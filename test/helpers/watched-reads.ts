/** A store that keeps how much each query of its reads answered with. */
import type { EntryRow } from '../../src/store/transcript-repository.ts';
import type { SessionRow } from '../../src/store/session-repository.ts';
import type { ReadTx, Store } from '../../src/store/store.ts';

export interface WatchedReads {
  store: Store;
  /** rows of each `sessions.scan` */
  scans: number[];
  /** bytes of stored messages of each `entries.tail` */
  tails: number[];
  /** rows of each page of deliveries, runs and lines of the audit log */
  pages: number[];
}

/** Returns a store that reads as the other one does, with what its reads cost. */
export function watchReads(store: Store): WatchedReads {
  const scans: number[] = [];
  const tails: number[] = [];
  const pages: number[] = [];
  const watched: ProxyHandler<ReadTx> = {
    get: (tx, name) => {
      if (name === 'sessions') {
        return watch(tx.sessions, /^scan$/, (rows: SessionRow[]) => scans.push(rows.length));
      }
      if (name === 'entries') {
        const bytesOf = (rows: EntryRow[]): number =>
          rows.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
        return watch(tx.entries, /^tail$/, (rows: EntryRow[]) => tails.push(bytesOf(rows)));
      }
      if (name === 'deliveries' || name === 'runs' || name === 'audit') {
        return watch(tx[name], /^page/, (rows: unknown[]) => pages.push(rows.length));
      }
      return Reflect.get(tx, name) as unknown;
    },
  };
  return {
    scans,
    tails,
    pages,
    store: {
      read: (fn) => store.read((tx) => fn(new Proxy(tx, watched))),
      write: (unit, fn) => store.write(unit, fn),
      onSignal: (listener) => store.onSignal(listener),
      close: () => store.close(),
    },
  };
}

/** Tells `listener` what the methods of a repository with such a name answer. */
function watch<T extends object, Rows>(
  repository: T,
  methods: RegExp,
  listener: (rows: Rows) => void,
): T {
  return new Proxy(repository, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (!methods.test(String(name))) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        const rows = (await Reflect.apply(value, target, args)) as Rows;
        listener(rows);
        return rows;
      };
    },
  });
}
