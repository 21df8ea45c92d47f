/** Safeguards switched off one at a time, to prove that the verdict of a campaign would notice. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChannelAdapter } from '../../src/channels/channel.ts';
import type { LaneFence, LaneWrites } from '../../src/store/lane-repository.ts';
import type { Store, WriteTx } from '../../src/store/store.ts';
import { must } from '../../src/util/assert.ts';
import { replacing } from './replacing.ts';

export const BREAKS = [
  'ack-before-commit',
  'drop-followup',
  'double-send',
  'no-fence',
  'stale-epoch',
] as const;
export type Break = (typeof BREAKS)[number];
/** need two gateways on one database, of which one is paused */
export const POSTGRES_BREAKS: ReadonlySet<Break> = new Set<Break>(['no-fence', 'stale-epoch']);

/** How long an acceptance that was answered already is kept from its commit. */
const COMMIT_DELAY_MS = 250;
/** Every so many a follow-up is forgotten. */
const DROPPED_FOLLOW_UP = 5;

/** Returns the store with a safeguard less, or as it is. */
export function breakStore(store: Store, broken: Break | undefined): Store {
  if (broken === 'ack-before-commit') return replacing(store, { write: ackBeforeCommit(store) });
  if (broken === 'drop-followup') return replacing(store, { write: dropFollowUps(store) });
  if (broken === 'no-fence') return withLanes(store, withoutFence);
  if (broken === 'stale-epoch') return withLanes(store, withStaleEpoch);
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

function withLanes(store: Store, wrap: (lanes: LaneWrites) => LaneWrites): Store {
  return replacing(store, {
    write: (unit, fn) => store.write(unit, (tx) => fn(replacing(tx, { lanes: wrap(tx.lanes) }))),
  });
}

/** Whoever writes to a lane may, whoever owns it. */
function withoutFence(lanes: LaneWrites): LaneWrites {
  const present = async (fence: LaneFence): Promise<LaneFence> => {
    const { owner, epoch } = must(await lanes.get(fence.sessionKey), 'lane');
    return { ...fence, owner: owner ?? '', epoch };
  };
  const unfenced = withFence(lanes, present);
  const ignore = (): void => {};
  return replacing(unfenced, {
    lock: async ({ sessionKey }) => must(await lanes.hold(sessionKey), 'lane'),
    // of a lane that nobody owns there is nothing to change
    setCurrent: (...args) => unfenced.setCurrent(...args).catch(ignore),
    setState: (...args) => unfenced.setState(...args).catch(ignore),
    release: (...args) => unfenced.release(...args).catch(ignore),
  });
}

/** An owner may write to its lane at any of its claims, as if a claim did not raise the epoch. */
function withStaleEpoch(lanes: LaneWrites): LaneWrites {
  return withFence(lanes, async (fence) => {
    const lane = await lanes.get(fence.sessionKey);
    return lane?.owner === fence.owner ? { ...fence, epoch: lane.epoch } : fence;
  });
}

function withFence(
  lanes: LaneWrites,
  toFence: (fence: LaneFence) => Promise<LaneFence>,
): LaneWrites {
  return replacing(lanes, {
    lock: async (fence) => lanes.lock(await toFence(fence)),
    setCurrent: async (fence, ...rest) => lanes.setCurrent(await toFence(fence), ...rest),
    setState: async (fence, state) => lanes.setState(await toFence(fence), state),
    release: async (fence, readyAt) => lanes.release(await toFence(fence), readyAt),
  });
}
