import type {
  DuePage,
  WindowCursor,
  WindowReads,
  WindowRow,
  WindowWrites,
} from '../session-repository.ts';
import { type DuePosition, duePosition } from './due-position.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { sessionId: string }) =>
  db.selectFrom('windows').selectAll().where('session_id', '=', p.sessionId),
);

const OF_KEY = defineQuery((db, p: WindowCursor & { sessionKey: string; limit: number }) =>
  db
    .selectFrom('windows')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where((eb) =>
      eb(eb.refTuple('started_at', 'session_id'), '<', eb.tuple(p.startedAt, p.sessionId)),
    )
    .orderBy('started_at', 'desc')
    .orderBy('session_id', 'desc')
    .limit(p.limit),
);

const FOLLOWING = defineQuery((db, p: WindowCursor & { sessionKey: string }) =>
  db
    .selectFrom('windows')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where((eb) =>
      eb(eb.refTuple('started_at', 'session_id'), '>', eb.tuple(p.startedAt, p.sessionId)),
    )
    .where('next_seq', '>', 1)
    .where('purge_at', 'is', null)
    .orderBy('started_at')
    .orderBy('session_id')
    .limit(1),
);

const ENDED_BEFORE = defineQuery((db, p: DuePosition) =>
  db
    .selectFrom('windows')
    .selectAll()
    .where('ended_at', 'is not', null)
    .where('deleted_at', 'is', null)
    .where('ended_at', '<=', p.at)
    .where((eb) => eb(eb.refTuple('ended_at', 'session_id'), '>', eb.tuple(p.afterAt, p.afterId)))
    .orderBy('ended_at')
    .orderBy('session_id')
    .limit(p.limit),
);

const DELETED_BEFORE = defineQuery((db, p: DuePosition) =>
  db
    .selectFrom('windows')
    .selectAll()
    .where('deleted_at', 'is not', null)
    .where('purge_at', 'is', null)
    .where('deleted_at', '<=', p.at)
    .where((eb) => eb(eb.refTuple('deleted_at', 'session_id'), '>', eb.tuple(p.afterAt, p.afterId)))
    .orderBy('deleted_at')
    .orderBy('session_id')
    .limit(p.limit),
);

const CONDEMNED = defineQuery((db, p: Omit<DuePosition, 'at'>) =>
  db
    .selectFrom('windows')
    .selectAll()
    .where('purge_at', 'is not', null)
    .where((eb) => eb(eb.refTuple('purge_at', 'session_id'), '>', eb.tuple(p.afterAt, p.afterId)))
    .orderBy('purge_at')
    .orderBy('session_id')
    .limit(p.limit),
);

const MARK_DELETED = defineQuery((db, p: { sessionKey: string; at: number }) =>
  db
    .updateTable('windows')
    .set((eb) => ({ deleted_at: p.at, ended_at: eb.fn.coalesce('ended_at', eb.val(p.at)) }))
    .where('session_key', '=', p.sessionKey)
    .where('deleted_at', 'is', null),
);

const CONDEMN = defineQuery((db, p: { sessionId: string; at: number }) =>
  db
    .updateTable('windows')
    .set((eb) => ({
      purge_at: p.at,
      deleted_at: eb.fn.coalesce('deleted_at', eb.val(p.at)),
      ended_at: eb.fn.coalesce('ended_at', eb.val(p.at)),
    }))
    .where('session_id', '=', p.sessionId)
    .where('purge_at', 'is', null),
);

const COUNT_CHILD = defineQuery((db, p: { sessionId: string }) =>
  db
    .updateTable('windows')
    .set((eb) => ({ children_spawned: eb('children_spawned', '+', eb.lit(1)) }))
    .where('session_id', '=', p.sessionId),
);

/** Sorts before every row. */
const AFTER_NONE: WindowCursor = { startedAt: -1, sessionId: '' };
/** Sorts after every row, so that the first page is asked like any other. */
const BEFORE_ALL: WindowCursor = { startedAt: Number.MAX_SAFE_INTEGER, sessionId: '' };

export class SqlWindows implements WindowWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(sessionId: string): Promise<WindowRow | undefined> {
    return this.#unit.first(BY_ID, { sessionId });
  }

  ofKey({
    cursor = BEFORE_ALL,
    ...query
  }: Parameters<WindowReads['ofKey']>[0]): Promise<WindowRow[]> {
    return this.#unit.all(OF_KEY, { ...query, ...cursor });
  }

  following({
    cursor = AFTER_NONE,
    sessionKey,
  }: Parameters<WindowReads['following']>[0]): Promise<WindowRow | undefined> {
    return this.#unit.first(FOLLOWING, { sessionKey, ...cursor });
  }

  endedBefore(page: DuePage): Promise<WindowRow[]> {
    return this.#unit.all(ENDED_BEFORE, duePosition(page));
  }

  deletedBefore(page: DuePage): Promise<WindowRow[]> {
    return this.#unit.all(DELETED_BEFORE, duePosition(page));
  }

  condemned(page: Omit<DuePage, 'at'>): Promise<WindowRow[]> {
    return this.#unit.all(CONDEMNED, duePosition({ at: 0, ...page }));
  }

  async markDeleted(sessionKey: string, at: number): Promise<void> {
    await this.#unit.change(MARK_DELETED, { sessionKey, at });
  }

  async condemn(sessionId: string, at: number): Promise<void> {
    await this.#unit.change(CONDEMN, { sessionId, at });
  }

  async countChild(sessionId: string): Promise<void> {
    await this.#unit.change(COUNT_CHILD, { sessionId });
  }
}
