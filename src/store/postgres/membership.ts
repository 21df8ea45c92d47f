/**
 * This gateway among those that share the database (DESIGN 3).
 *
 *   out --join--> in --the session breaks, or others declared it dead--> lost --join--> in
 *
 * A session of its own holds an advisory lock, listens and keeps the heartbeat row. Others declare a
 * gateway dead when its lock is free (the process or its connection is gone) or its lease is over (it
 * is paused): they delete its row and free its lanes in one transaction. So a gateway that finds its
 * row gone knows that its lanes are gone.
 */
import { randomInt } from 'node:crypto';
import pg from 'pg';
import { RUN_CLASSES } from '../../protocol/words.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { StoreSignal } from '../store.ts';
import { connectOptions } from './connect-options.ts';
import { DatabaseClock } from './database-clock.ts';
import { CHANNEL, readPayload } from './notifier.ts';
import { toStoreError } from './to-store-error.ts';

const LEASE_MS = 10_000;
const HEARTBEAT_MS = 3000;
const SWEEP_MS = 1000;
const LONGEST_REJOIN_MS = 5000;
/** A session that does not answer so long is a lost one. */
const ANSWER_MS = 6000;

const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** The server notices within seconds that our machine is gone. */
const PREPARE_SESSION = `set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2;
set tcp_keepalives_count = 3; listen ${CHANNEL}`;

/** What an earlier registration of this gateway still held is free: its runs were given up. */
const FREE_OWN_LANES = 'update lanes set owner = null where owner = $1';
/** Both return the time of the database. */
const REGISTER = `insert into gateways (id, lock_key, worker_id, heartbeat_at, lease_until)
values ($1, $2, $3, ${NOW}, ${NOW} + ${LEASE_MS})
on conflict (id) do update set lock_key = excluded.lock_key, worker_id = excluded.worker_id,
  heartbeat_at = excluded.heartbeat_at, lease_until = excluded.lease_until
returning heartbeat_at as now`;
const HEARTBEAT = `update gateways set worker_id = $2, heartbeat_at = ${NOW}, lease_until = ${NOW} + ${LEASE_MS}
where id = $1 returning heartbeat_at as now`;

/** Whether a gateway is dead: the condition that the take-over uses, too. */
export const IS_DEAD = `(lease_until <= ${NOW} or pg_try_advisory_xact_lock(lock_key))`;

/** Of each class in the order of its claims, so that what waits for clients is never looked at. */
const READY_OF_CLASS = RUN_CLASSES.map(
  (name) => `(select session_key from lanes
    where owner is null and pending > 0 and head_class = '${name}'
    order by (current_run_id is null), turn_at, ready_at, session_key limit 1)`,
);
/** A lane that a gateway may claim, or null. */
export const READY_LANE = `select coalesce(${READY_OF_CLASS.join(', ')})`;

const SWEEP = `select
  exists (select 1 from gateways where id <> $1 and ${IS_DEAD})
    or exists (select 1 from lanes where owner is not null and owner <> $1
      and not exists (select 1 from gateways where gateways.id = lanes.owner)) as has_orphans,
  (${READY_LANE}) as ready_key`;

export interface MembershipOptions {
  /** of the database itself, not of a pooler */
  url: string;
  place: string;
  id: string;
  logger: Logger;
  /** how often it looks for work without an owner, and whether its heartbeat is due */
  sweepEveryMs?: number | undefined;
  /** Signals for the listeners of this gateway. */
  publish(signals: readonly StoreSignal[]): void;
  /** Signals of other gateways. */
  onRemote(signals: readonly StoreSignal[]): void;
  /** Declares dead gateways dead and frees what they held. */
  takeOver(): Promise<void>;
}

export class Membership {
  readonly #options: MembershipOptions;
  readonly #lostListeners = new Set<() => Promise<void>>();
  readonly #clock = new DatabaseClock();
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #workerId: string | null = null;
  #heartbeatAt = 0;
  #leaseEndsAt = 0;
  #isOut = true;
  /** resolves when the gateway leaves: nothing waits longer */
  readonly #left = Promise.withResolvers<void>();
  #working: Promise<void> = Promise.resolve();

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** The database's, as of the last heartbeat. */
  get clock(): Clock {
    return this.#clock;
  }

  /** False when others may have declared this gateway dead. By the monotonic clock: it goes on while paused. */
  holdsLease(): boolean {
    return performance.now() < this.#leaseEndsAt;
  }

  /** `listener` gives up all runs of this gateway; it is awaited before the gateway joins again. */
  onLost(listener: () => Promise<void>): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  /** Names who has jobs locked for this gateway. */
  setWorker(workerId: string): void {
    this.#workerId = workerId;
    this.#client
      ?.query('update gateways set worker_id = $2 where id = $1', [this.#options.id, workerId])
      // the next heartbeat says it again
      .catch(() => {});
  }

  /** Joins for the first time. Rejects `unavailable` when the database cannot be reached. */
  async join(): Promise<void> {
    this.#isOut = false;
    await this.#register().catch((error: unknown) => {
      this.#isOut = true;
      throw toStoreError(error, this.#options.place);
    });
    this.#schedule();
  }

  /** Leaves in order: others take over at once. */
  async leave(): Promise<void> {
    if (this.#isOut) return;
    this.#isOut = true;
    this.#left.resolve();
    clearTimeout(this.#timer);
    await this.#working;
    this.#leaseEndsAt = 0;
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    await client.query('delete from gateways where id = $1', [this.#options.id]).catch(() => {});
    await client.end().catch(() => {});
  }

  async #register(): Promise<void> {
    const { id, url } = this.#options;
    const client = new pg.Client({ ...connectOptions(url), query_timeout: ANSWER_MS });
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    client.on('notification', ({ payload = '' }) =>
      this.#options.onRemote(readPayload(payload, id)),
    );
    try {
      await client.connect();
      await client.query(PREPARE_SESSION);
      const lockKey = randomInt(1, 2 ** 47);
      await client.query('select pg_advisory_lock($1)', [lockKey]);
      const startedAt = performance.now();
      await client.query('begin');
      await client.query(FREE_OWN_LANES, [id]);
      const { rows } = await client.query<{ now: number }>(REGISTER, [id, lockKey, this.#workerId]);
      await client.query('commit');
      this.#client = client;
      this.#renewed(startedAt, rows[0]?.now);
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
  }

  #renewed(startedAt: number, now = 0): void {
    this.#clock.set(now, startedAt);
    this.#heartbeatAt = startedAt;
    this.#leaseEndsAt = startedAt + LEASE_MS;
  }

  #schedule(): void {
    if (this.#isOut) return;
    this.#timer = setTimeout(() => {
      this.#working = this.#tick();
    }, this.#options.sweepEveryMs ?? SWEEP_MS);
  }

  async #tick(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    try {
      await this.#beat(client);
      await this.#sweep(client);
      this.#schedule();
    } catch (error) {
      if (this.#isOut) return;
      this.#options.logger.warn({ err: error }, 'the heartbeat failed');
      this.#lose(client);
    }
  }

  async #beat(client: pg.Client): Promise<void> {
    const startedAt = performance.now();
    if (startedAt - this.#heartbeatAt < HEARTBEAT_MS) return;
    // Runs that were refused their effects are given up already, taken over or not.
    if (!this.holdsLease()) throw new Error('the lease was over before this heartbeat');
    const { rows } = await client.query<{ now: number }>(HEARTBEAT, [
      this.#options.id,
      this.#workerId,
    ]);
    if (rows[0] === undefined) throw new Error('this gateway was declared dead');
    this.#renewed(startedAt, rows[0].now);
  }

  async #sweep(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ has_orphans: boolean; ready_key: string | null }>(SWEEP, [
      this.#options.id,
    ]);
    const found = rows[0];
    if (found?.has_orphans === true) {
      // The store may be out of reach while this session is not: the next sweep finds it again.
      await this.#options
        .takeOver()
        .catch((error: unknown) => this.#options.logger.warn({ err: error }, 'take-over failed'));
    }
    if (typeof found?.ready_key === 'string') {
      this.#options.publish([{ type: 'lane', sessionKey: found.ready_key }]);
    }
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#leaseEndsAt = 0;
    clearTimeout(this.#timer);
    client.end().catch(() => {});
    if (this.#isOut) return;
    this.#options.logger.warn(
      { gatewayId: this.#options.id },
      'the session with the database is lost: the runs of this gateway are given up, others take over',
    );
    this.#working = this.#rejoin();
  }

  async #rejoin(): Promise<void> {
    const givenUp = Promise.allSettled([...this.#lostListeners].map((giveUp) => giveUp()));
    await Promise.race([givenUp, this.#left.promise]);
    for (let pauseMs = 100; !this.#isOut; pauseMs = Math.min(pauseMs * 2, LONGEST_REJOIN_MS)) {
      try {
        await this.#register();
        this.#options.logger.info({ gatewayId: this.#options.id }, 'joined the database again');
        // what others told meanwhile was missed
        this.#options.publish([{ type: 'resync' }]);
        this.#schedule();
        return;
      } catch (error) {
        this.#options.logger.warn({ err: error }, 'the database is out of reach; tried again');
        const paused = new Promise<void>((resolve) => {
          this.#timer = setTimeout(resolve, pauseMs);
        });
        await Promise.race([paused, this.#left.promise]);
      }
    }
  }
}
