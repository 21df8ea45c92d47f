/** Whose turn it is: which waiting lane is claimed next, and when another one comes ready. */
import { sql } from 'kysely';
import type { RunClass } from '../../protocol/words.ts';
import type { LaneRow } from '../lane-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const CLAIM_NEXT = defineQuery(
  (db, p: { runClass: RunClass; owner: string; now: number }, dialect) =>
    db
      .updateTable('lanes')
      .set((eb) => ({ owner: p.owner, epoch: eb('epoch', '+', eb.lit(1)) }))
      .where(
        'session_key',
        '=',
        dialect.forUpdateSkipLocked(
          db
            .selectFrom('lanes')
            .select('session_key')
            .where('owner', 'is', null)
            .where((eb) => eb('pending', '>', eb.lit(0)))
            .where('head_class', '=', p.runClass)
            .where('ready_at', '<=', p.now)
            .orderBy((eb) => eb.parens(eb('current_run_id', 'is', null)))
            .orderBy('turn_at')
            .orderBy('ready_at')
            .orderBy('session_key')
            .limit(1),
        ),
      )
      .returningAll(),
);

/** The other waiting lanes of a root that was served take their turn after everybody who waits now. */
const PASS_TURN = defineQuery(
  (db, p: { rootKey: string; headClass: RunClass; turnAt: number }, dialect) =>
    db
      .updateTable('lanes')
      .set({ turn_at: p.turnAt })
      .where(
        'session_key',
        'in',
        dialect.forUpdateSkipLocked(
          db
            .selectFrom('lanes')
            .select('session_key')
            .where('root_key', '=', p.rootKey)
            .where('head_class', '=', p.headClass)
            .where('turn_at', '<', p.turnAt)
            .where('owner', 'is', null)
            .where((eb) => eb('pending', '>', eb.lit(0))),
        ),
      ),
);

const NEXT_READY = defineQuery((db, p: { runClass: RunClass; now: number }) =>
  db
    .selectFrom('lanes')
    .select('turn_at')
    .where('head_class', '=', p.runClass)
    .where((eb) => eb(eb.parens(eb('current_run_id', 'is', null)), '=', sql.lit(true)))
    .where('turn_at', '>', p.now)
    .where('owner', 'is', null)
    .where((eb) => eb('pending', '>', eb.lit(0)))
    .orderBy('turn_at')
    .limit(1),
);

/**
 * Claims the ready lane whose turn it is, and lets the other lanes of its root wait for everybody who
 * waits now. Undefined when none is ready.
 */
export async function claimNext(
  unit: SqlUnit,
  query: { runClass: RunClass; owner: string },
): Promise<LaneRow | undefined> {
  const { now } = unit;
  const lane = await unit.first(CLAIM_NEXT, { ...query, now });
  if (lane === undefined) return undefined;
  // one more than its own, so that roots alternate also within a millisecond
  const turnAt = Math.max(now, lane.turnAt + 1);
  await unit.change(PASS_TURN, { rootKey: lane.rootKey, headClass: query.runClass, turnAt });
  return lane;
}

/** Returns when the next lane of the class comes ready that is not ready at `now`. */
export async function nextReadyAt(
  unit: SqlUnit,
  after: { runClass: RunClass; now: number },
): Promise<number | undefined> {
  return (await unit.first(NEXT_READY, after))?.turnAt;
}
