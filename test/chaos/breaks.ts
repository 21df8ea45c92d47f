/** Safeguards switched off one at a time, to prove that the verdict of a campaign would notice. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChannelAdapter } from '../../src/channels/channel.ts';
import type { Store, WriteTx } from '../../src/store/store.ts';

export const BREAKS = ['ack-before-commit', 'drop-followup', 'double-send'] as const;
export type Break = (typeof BREAKS)[number];
/** need two gateways on one database */
export const POSTGRES_BREAKS = ['no-fence', 'stale-epoch'] as const;

/** How long an acceptance that was answered already is kept from its commit. */
const COMMIT_DELAY_MS = 250;
/** Every so many a follow-up is forgotten. */
const DROPPED_FOLLOW_UP = 5;

/** Returns the store with a safeguard less, or as it is. */
export function breakStore(store: Store, broken: Break | undefined): Store {
  if (broken === 'ack-before-commit') return replacing(store, { write: ackBeforeCommit(store) });
  if (broken === 'drop-followup') return replacing(store, { write: dropFollowUps(store) });
  return store;
}

/** Returns the adapters with a safeguard less, or as they are. */
export function breakChannels(
  adapters: readonly ChannelAdapter[],
  broken: Break | undefined,
): readonly ChannelAdapter[] {
  if (broken !== 'double-send') return adapters;
  return adapters.map((adapter) => ({
    ...adapter,
    // Each attempt is a new effect to the chat service.
    send: (part, signal) => adapter.send({ ...part, idempotencyKey: randomUUID() }, signal),
  }));
}

/** The caller is answered once the unit has run, and dies with the process before it is committed. */
function ackBeforeCommit(store: Store): Store['write'] {
  return (unit, fn) => {
    if (!unit.startsWith('accept-')) return store.write(unit, fn);
    return new Promise((resolve, reject) => {
      store
        .write(unit, async (tx) => {
          const value = await fn(tx);
          resolve(value);
          await delay(COMMIT_DELAY_MS);
          return value;
        })
        .then(resolve, reject);
    });
  };
}

/** What follows from a step is a promise that nobody keeps. */
function dropFollowUps(store: Store): Store['write'] {
  let added = 0;
  return (unit, fn) =>
    store.write(unit, (tx) => {
      const add: WriteTx['jobs']['add'] = (job) => {
        added += 1;
        return added % DROPPED_FOLLOW_UP === 0 ? Promise.resolve() : tx.jobs.add(job);
      };
      return fn(replacing(tx, { jobs: replacing(tx.jobs, { add }) }));
    });
}

/** Returns the object with some members replaced; the others go on working on the object itself. */
function replacing<T extends object>(whole: T, members: Partial<T>): T {
  return new Proxy(whole, {
    get: (target, name: string & keyof T) => {
      const member = members[name] ?? target[name];
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
