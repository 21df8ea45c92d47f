import { sql } from 'kysely';
import type { RunState } from '../../protocol/words.ts';
import type { RunCursor, RunReads, RunRow, RunWrites } from '../run-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { runId: string }) =>
  db.selectFrom('runs').selectAll().where('run_id', '=', p.runId),
);

const NEXT_QUEUED = defineQuery((db, p: { sessionKey: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('state', '=', sql.lit('queued'))
    .orderBy('seq')
    .limit(1),
);

const QUEUED_OF = defineQuery((db, p: { sessionKey: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('state', '=', sql.lit('queued'))
    .orderBy('seq'),
);

const LATEST_OF = defineQuery((db, p: { sessionKey: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('purged_at', 'is', null)
    .where(sql<boolean>`purpose not in ('exchange_announce', 'spawn_announce', 'command')`)
    .orderBy('accepted_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(1),
);

const CAUSED_BY = defineQuery((db, p: { runId: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('parent_run_id', '=', p.runId)
    .where('parent_run_id', 'is not', null),
);

const STOPPED_UNDER = defineQuery((db, p: { stopKey: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('stop_key', '=', p.stopKey)
    .where('stop_key', 'is not', null),
);

const PAGE_OF_SESSION = defineQuery(
  (db, p: { sessionKey: string; acceptedAt: number; seq: number; limit: number }) =>
    db
      .selectFrom('runs')
      .selectAll()
      .where('session_key', '=', p.sessionKey)
      .where('purged_at', 'is', null)
      .where((eb) => eb(eb.refTuple('accepted_at', 'seq'), '<', eb.tuple(p.acceptedAt, p.seq)))
      .orderBy('accepted_at', 'desc')
      .orderBy('seq', 'desc')
      .limit(p.limit),
);

const PAGE_OF_STATE = defineQuery((db, p: RunCursor & { state: RunState; limit: number }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('state', '=', p.state)
    .where('purged_at', 'is', null)
    .where((eb) => eb(eb.refTuple('accepted_at', 'run_id'), '<', eb.tuple(p.acceptedAt, p.runId)))
    .orderBy('accepted_at', 'desc')
    .orderBy('run_id', 'desc')
    .limit(p.limit),
);

/** Sorts after every row, so that the first page is asked like any other. */
const BEFORE_ALL: RunCursor = { acceptedAt: Number.MAX_SAFE_INTEGER, runId: '' };

const QUEUED = defineQuery((db, p: { sessionKey: string; limit: number }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('state', '=', sql.lit('queued'))
    .orderBy('seq')
    .limit(p.limit),
);

const MERGED_INTO = defineQuery((db, p: { runId: string }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('merged_into', '=', p.runId)
    .where('merged_into', 'is not', null)
    .orderBy('seq'),
);

const COUNT_BY_STATE = defineQuery((db, _p: object) =>
  db
    .selectFrom('runs')
    .select((eb) => ['state', eb.fn.countAll<number>().as('total')])
    .where('purged_at', 'is', null)
    .groupBy('state'),
);

export class SqlRuns implements RunWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(runId: string): Promise<RunRow | undefined> {
    return this.#unit.first(BY_ID, { runId });
  }

  nextQueued(sessionKey: string): Promise<RunRow | undefined> {
    return this.#unit.first(NEXT_QUEUED, { sessionKey });
  }

  queuedOf(sessionKey: string): Promise<RunRow[]> {
    return this.#unit.all(QUEUED_OF, { sessionKey });
  }

  latestOf(sessionKey: string): Promise<RunRow | undefined> {
    return this.#unit.first(LATEST_OF, { sessionKey });
  }

  causedBy(runId: string): Promise<RunRow[]> {
    return this.#unit.all(CAUSED_BY, { runId });
  }

  stoppedUnder(stopKey: string): Promise<RunRow[]> {
    return this.#unit.all(STOPPED_UNDER, { stopKey });
  }

  pageOfSession({
    after = { acceptedAt: Number.MAX_SAFE_INTEGER, seq: 0 },
    ...query
  }: Parameters<RunReads['pageOfSession']>[0]): Promise<RunRow[]> {
    const { acceptedAt, seq } = after;
    return this.#unit.all(PAGE_OF_SESSION, { ...query, acceptedAt, seq });
  }

  pageOfState({
    cursor = BEFORE_ALL,
    ...query
  }: Parameters<RunReads['pageOfState']>[0]): Promise<RunRow[]> {
    const { acceptedAt, runId } = cursor;
    return this.#unit.all(PAGE_OF_STATE, { ...query, acceptedAt, runId });
  }

  queued(sessionKey: string, limit: number): Promise<RunRow[]> {
    return this.#unit.all(QUEUED, { sessionKey, limit });
  }

  mergedInto(runId: string): Promise<RunRow[]> {
    return this.#unit.all(MERGED_INTO, { runId });
  }

  async countByState(): Promise<Record<string, number>> {
    const counts = await this.#unit.all(COUNT_BY_STATE, {});
    return Object.fromEntries(counts.map(({ state, total }) => [state, total]));
  }

  insert(row: RunRow): Promise<void> {
    return this.#unit.insert('runs', row);
  }

  update(
    runId: string,
    patch: Partial<Omit<RunRow, 'runId' | 'sessionKey' | 'seq'>>,
  ): Promise<void> {
    return this.#unit.update('runs', { name: 'runId', value: runId }, patch);
  }
}
