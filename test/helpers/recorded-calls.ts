import type { Store } from '../../src/store/store.ts';

/**
 * Returns a store that does as the other one does, with the name of each query of its units and reads, in
 * their order. What the mirror of the transcripts reads meanwhile is left out: it is nobody's call.
 */
export function recordCalls(store: Store): { store: Store; calls: string[] } {
  const calls: string[] = [];
  const recorded: Store = {
    read: (fn, limit) => store.read(isOfMirror() ? fn : (tx) => fn(watched(tx, calls)), limit),
    write: (unit, fn) => store.write(unit, (tx) => fn(watched(tx, calls))),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
  };
  return { calls, store: new Proxy(recorded, { get: (own, name) => memberOf(own, store, name) }) };
}

function isOfMirror(): boolean {
  return new Error().stack?.includes('/service/mirror/') === true;
}

function memberOf(own: Store, store: Store, name: string | symbol): unknown {
  if (Reflect.has(own, name)) return Reflect.get(own, name);
  const value: unknown = Reflect.get(store, name);
  return typeof value === 'function' ? (value.bind(store) as unknown) : value;
}

/** `tx.sessions.get(…)` is the query `sessions.get`. */
function watched<Tx extends object>(tx: Tx, calls: string[]): Tx {
  return new Proxy(tx, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member === 'function') return member.bind(target) as unknown;
      if (typeof member !== 'object' || member === null) return member;
      return new Proxy(member, {
        get: (repository, method) => {
          const value: unknown = Reflect.get(repository, method);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]): unknown => {
            calls.push(`${String(name)}.${String(method)}`);
            return Reflect.apply(value, repository, args);
          };
        },
      });
    },
  });
}
