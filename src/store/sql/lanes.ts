/**
 * Lanes: strict order and one owner per session.
 *
 *   free, empty --addRun--> free, ready --claimNext--> owned --setCurrent--> owned, running
 *   owned, running --release--> free, ready (more runs) | free, empty
 *   free --take--> owned --leave--> free, still holding its run (of a client, which nobody plays)
 *   owned --freeOrphans (the owner's process is gone)--> free, ready, still holding its run
 */
import { type ExpressionBuilder, sql } from 'kysely';
import { GatewayError } from '../../protocol/errors.ts';
import type { RunClass, SessionState } from '../../protocol/words.ts';
import { must } from '../../util/assert.ts';
import type { LaneFence, LaneRow, LaneWrites } from '../lane-repository.ts';
import { statesOf } from './lane-states.ts';
import { claimNext, nextReadyAt } from './lane-turns.ts';
import { defineQuery, type Query } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';
import type { Tables } from './tables.ts';

type Lanes = ExpressionBuilder<Tables, 'lanes'>;

const BY_KEY = defineQuery((db, p: { sessionKey: string }) =>
  db.selectFrom('lanes').selectAll().where('session_key', '=', p.sessionKey),
);

const TAKE = defineQuery((db, p: { sessionKey: string; owner: string }) =>
  db
    .updateTable('lanes')
    .set((eb) => ({ owner: p.owner, epoch: eb('epoch', '+', eb.lit(1)) }))
    .where('session_key', '=', p.sessionKey)
    .where('owner', 'is', null)
    .returningAll(),
);

const LEAVE = defineQuery((db, p: LaneFence) =>
  db
    .updateTable('lanes')
    .set({ owner: null })
    .where('session_key', '=', p.sessionKey)
    .where('owner', '=', p.owner)
    .where('epoch', '=', p.epoch),
);

const LOCK = defineQuery((db, p: LaneFence, dialect) =>
  dialect.forUpdate(
    db
      .selectFrom('lanes')
      .selectAll()
      .where('session_key', '=', p.sessionKey)
      .where('owner', '=', p.owner)
      .where('epoch', '=', p.epoch),
  ),
);

const HOLD = defineQuery((db, p: { sessionKey: string }, dialect) =>
  dialect.forUpdate(db.selectFrom('lanes').selectAll().where('session_key', '=', p.sessionKey)),
);

const EMPTY_LANE = {
  epoch: 0,
  next_seq: 1,
  pending: 0,
  state: 'idle',
  ready_at: 0,
  turn_at: 0,
  quiet_until: 0,
} as const;

/** A session that has no row yet is a root of its own. */
function rootOf(eb: Lanes, sessionKey: string) {
  return eb.fn.coalesce(
    eb.selectFrom('sessions').select('root_key').where('key', '=', sessionKey),
    eb.val(sessionKey),
  );
}

const NEXT_SEQ = defineQuery((db, p: { sessionKey: string }) =>
  db
    .insertInto('lanes')
    .values((eb) => ({
      ...EMPTY_LANE,
      session_key: p.sessionKey,
      next_seq: 2,
      root_key: rootOf(eb, p.sessionKey),
    }))
    .onConflict((conflict) =>
      conflict
        .column('session_key')
        .doUpdateSet((eb) => ({ next_seq: eb('lanes.next_seq', '+', eb.lit(1)) })),
    )
    .returning('next_seq'),
);

interface AddedRun {
  sessionKey: string;
  runClass: RunClass;
  readyAt: number;
  now: number;
}

/** A run behind others changes nothing but their number, unless it stands ahead of them or ends their quiet time. */
const ADD_RUN = defineQuery((db, p: AddedRun) =>
  db
    .insertInto('lanes')
    .values((eb) => ({
      ...EMPTY_LANE,
      session_key: p.sessionKey,
      pending: 1,
      head_class: p.runClass,
      state: 'queued',
      ready_at: p.readyAt,
      turn_at: p.readyAt,
      quiet_until: p.readyAt,
      root_key: rootOf(eb, p.sessionKey),
    }))
    .onConflict((conflict) =>
      conflict.column('session_key').doUpdateSet((eb) => {
        const isEmpty = eb('lanes.pending', '=', eb.lit(0));
        const startsWait = eb.or([isEmpty, eb('lanes.ready_at', '>', p.now)]);
        return {
          pending: eb('lanes.pending', '+', eb.lit(1)),
          head_class: eb
            .case()
            .when(isEmpty)
            .then(eb.ref('excluded.head_class'))
            .when('lanes.current_run_id', 'is not', null)
            .then(eb.ref('lanes.head_class'))
            .else(eb.fn.coalesce(nextQueuedClass(eb), 'lanes.head_class'))
            .end(),
          ready_at: eb
            .case()
            .when(startsWait)
            .then(eb.ref('excluded.ready_at'))
            .else(eb.ref('lanes.ready_at'))
            .end(),
          turn_at: eb
            .case()
            .when(startsWait)
            .then(eb.ref('excluded.turn_at'))
            .else(eb.ref('lanes.turn_at'))
            .end(),
          quiet_until: eb.ref('excluded.quiet_until'),
          state: eb
            .case()
            .when(isEmpty)
            .then(eb.ref('excluded.state'))
            .else(eb.ref('lanes.state'))
            .end(),
        };
      }),
    ),
);

const SET_CURRENT = defineQuery(
  (db, p: LaneFence & { currentRunId: string; state: SessionState }) =>
    db
      .updateTable('lanes')
      .set((eb) => ({
        current_run_id: p.currentRunId,
        state: p.state,
        // after a crash the lane is claimed again from the pool of this run
        head_class: eb.fn.coalesce(
          eb.selectFrom('runs').select('run_class').where('run_id', '=', p.currentRunId),
          'lanes.head_class',
        ),
      }))
      .where('session_key', '=', p.sessionKey)
      .where('owner', '=', p.owner)
      .where('epoch', '=', p.epoch),
);

const SET_STATE = defineQuery((db, p: LaneFence & { state: SessionState }) =>
  db
    .updateTable('lanes')
    .set({ state: p.state })
    .where('session_key', '=', p.sessionKey)
    .where('owner', '=', p.owner)
    .where('epoch', '=', p.epoch),
);

function oneLess(eb: Lanes) {
  return eb
    .case()
    .when('pending', '>', eb.lit(0))
    .then(eb('pending', '-', eb.lit(1)))
    .else(eb.lit(0))
    .end();
}

function nextQueuedClass(eb: Lanes) {
  return eb
    .selectFrom('runs')
    .select('runs.run_class')
    .whereRef('runs.session_key', '=', 'lanes.session_key')
    .where('runs.state', '=', sql.lit('queued'))
    .orderBy('runs.seq')
    .limit(1);
}

const RELEASE = defineQuery((db, p: LaneFence & { readyAt: number }) =>
  db
    .updateTable('lanes')
    .set((eb) => ({
      owner: null,
      current_run_id: null,
      pending: oneLess(eb),
      head_class: nextQueuedClass(eb),
      state: eb
        .case()
        .when('pending', '>', eb.lit(1))
        .then(sql.lit<SessionState>('queued'))
        .else(sql.lit<SessionState>('idle'))
        .end(),
      ready_at: p.readyAt,
      turn_at: p.readyAt,
    }))
    .where('session_key', '=', p.sessionKey)
    .where('owner', '=', p.owner)
    .where('epoch', '=', p.epoch),
);

/** A lane that holds a run keeps that run's class and state. */
const REMOVE_QUEUED = defineQuery((db, p: { sessionKey: string }) =>
  db
    .updateTable('lanes')
    .set((eb) => ({
      pending: oneLess(eb),
      head_class: eb
        .case()
        .when('current_run_id', 'is not', null)
        .then(eb.ref('head_class'))
        .else(nextQueuedClass(eb))
        .end(),
      state: eb
        .case()
        .when('pending', '>', eb.lit(1))
        .then(eb.ref('state'))
        .else(sql.lit<SessionState>('idle'))
        .end(),
    }))
    .where('session_key', '=', p.sessionKey),
);

/** On SQLite there are no rows of gateways: whoever is not the present owner is gone. */
const FREE_ORPHANS = defineQuery((db, p: { owner: string }) =>
  db
    .updateTable('lanes')
    .set({ owner: null })
    .where('owner', 'is not', null)
    .where('owner', '<>', p.owner)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('gateways')
            .select('gateways.id')
            .whereRef('gateways.id', '=', 'lanes.owner'),
        ),
      ),
    ),
);

export class SqlLanes implements LaneWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(sessionKey: string): Promise<LaneRow | undefined> {
    return this.#unit.first(BY_KEY, { sessionKey });
  }

  states(sessionKeys: readonly string[]): Promise<Map<string, SessionState>> {
    return statesOf(this.#unit, sessionKeys);
  }

  async nextSeq(sessionKey: string): Promise<number> {
    const lane = must(await this.#unit.first(NEXT_SEQ, { sessionKey }), 'lane after nextSeq');
    return lane.nextSeq - 1;
  }

  async addRun(sessionKey: string, runClass: RunClass, readyAt: number): Promise<void> {
    await this.#unit.change(ADD_RUN, { sessionKey, runClass, readyAt, now: this.#unit.now });
  }

  claimNext(query: { runClass: RunClass; owner: string }): Promise<LaneRow | undefined> {
    return claimNext(this.#unit, query);
  }

  nextReadyAt(runClass: RunClass, now: number): Promise<number | undefined> {
    return nextReadyAt(this.#unit, { runClass, now });
  }

  take(query: { sessionKey: string; owner: string }): Promise<LaneRow | undefined> {
    return this.#unit.first(TAKE, query);
  }

  async leave(fence: LaneFence): Promise<void> {
    await this.#changeOwned(LEAVE, fence);
  }

  hold(sessionKey: string): Promise<LaneRow | undefined> {
    return this.#unit.first(HOLD, { sessionKey });
  }

  async lock(fence: LaneFence): Promise<LaneRow> {
    const lane = await this.#unit.first(LOCK, fence);
    return lane ?? lost(fence);
  }

  async setCurrent(fence: LaneFence, currentRunId: string, state: SessionState): Promise<void> {
    await this.#changeOwned(SET_CURRENT, { ...fence, currentRunId, state });
  }

  async setState(fence: LaneFence, state: SessionState): Promise<void> {
    await this.#changeOwned(SET_STATE, { ...fence, state });
  }

  async release(fence: LaneFence, readyAt: number): Promise<void> {
    await this.#changeOwned(RELEASE, { ...fence, readyAt });
  }

  async removeQueued(sessionKey: string): Promise<void> {
    await this.#unit.change(REMOVE_QUEUED, { sessionKey });
  }

  freeOrphans(owner: string): Promise<number> {
    return this.#unit.change(FREE_ORPHANS, { owner });
  }

  async #changeOwned<P extends LaneFence>(query: Query<P, unknown>, params: P): Promise<void> {
    if ((await this.#unit.change(query, params)) === 0) lost(params);
  }
}

function lost({ sessionKey, owner, epoch }: LaneFence): never {
  throw new GatewayError(
    'fenced',
    `lane ${sessionKey} is no longer held by ${owner} at epoch ${epoch}; another owner goes on`,
  );
}
