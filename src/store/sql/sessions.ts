import { sql } from 'kysely';
import { GatewayError } from '../../protocol/errors.ts';
import { assert } from '../../util/assert.ts';
import type {
  DuePage,
  SessionChat,
  SessionCursor,
  SessionRow,
  SessionScope,
  SessionWrites,
} from '../session-repository.ts';
import { type DuePosition, duePosition } from './due-position.ts';
import { defineQuery, keyed, type Query } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_KEY = defineQuery((db, p: { key: string }) =>
  db.selectFrom('sessions').selectAll().where('key', '=', p.key),
);

const BY_SESSION_ID = defineQuery((db, p: { sessionId: string }) =>
  db
    .selectFrom('windows')
    .innerJoin('sessions', 'sessions.key', 'windows.session_key')
    .selectAll('sessions')
    .where('windows.session_id', '=', p.sessionId),
);

const COUNT = defineQuery((db, _p: object) =>
  db
    .selectFrom('sessions')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('archived_at', 'is', null),
);

const CLOCKS = defineQuery((db, p: { afterKey: string; limit: number }) =>
  db
    .selectFrom('sessions')
    .select(['key', 'archive_at'])
    .where('archive_at', 'is not', null)
    .where('key', '>', p.afterKey)
    .orderBy('key')
    .limit(p.limit),
);

const ARCHIVED_BEFORE = defineQuery((db, p: DuePosition) =>
  db
    .selectFrom('sessions')
    .selectAll()
    .where('archived_at', 'is not', null)
    .where('deleted_at', 'is', null)
    .where('archived_at', '<=', p.at)
    .where((eb) => eb(eb.refTuple('archived_at', 'key'), '>', eb.tuple(p.afterAt, p.afterId)))
    .orderBy('archived_at')
    .orderBy('key')
    .limit(p.limit),
);

const FIRST_BELOW = defineQuery((db, p: { key: string }) =>
  db
    .selectFrom('session_ancestors')
    .select('session_key')
    .where('ancestor_key', '=', p.key)
    .limit(1),
);

const IS_DESCENDANT = defineQuery((db, p: { ancestorKey: string; key: string }) =>
  db
    .selectFrom('session_ancestors')
    .select('ancestor_key')
    .where('session_key', '=', p.key)
    .where('ancestor_key', '=', p.ancestorKey),
);

const BUSY_BELOW = defineQuery((db, p: { ancestorKey: string }) =>
  db
    .selectFrom('session_ancestors')
    .innerJoin('lanes', 'lanes.session_key', 'session_ancestors.session_key')
    .select('session_ancestors.session_key')
    .where('session_ancestors.ancestor_key', '=', p.ancestorKey)
    .where('lanes.pending', '>', 0)
    .orderBy('session_ancestors.session_key'),
);

const COUNT_ACTIVE_CHILDREN = defineQuery((db, p: { key: string }) =>
  db
    .selectFrom('spawns')
    .innerJoin('runs', 'runs.run_id', 'spawns.run_id')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('spawns.requester_key', '=', p.key)
    .where('spawns.state', '<>', sql.lit('settled'))
    .where('runs.state', 'in', ['queued', 'running', 'waiting']),
);

/** What decides where a session stands in lists. */
const PLACE = ['updatedAt', 'archivedAt', 'deletedAt'] as const;
type Placed = Pick<SessionRow, 'key' | (typeof PLACE)[number]>;

const INHERIT_ANCESTORS = defineQuery((db, p: Placed & { parentKey: string }) =>
  db
    .insertInto('session_ancestors')
    .columns(['session_key', 'ancestor_key', 'updated_at', 'archived_at', 'deleted_at'])
    .expression((eb) =>
      eb
        .selectFrom('session_ancestors')
        .select((of) => [
          of.val(p.key).as('session_key'),
          'ancestor_key',
          sql<number>`cast(${p.updatedAt} as bigint)`.as('updated_at'),
          sql<number | null>`cast(${p.archivedAt} as bigint)`.as('archived_at'),
          sql<number | null>`cast(${p.deletedAt} as bigint)`.as('deleted_at'),
        ])
        .where('session_key', '=', p.parentKey),
    ),
);

/** A session keeps its place below its ancestors. */
const MOVE_BELOW = defineQuery((db, p: { key: string }) =>
  db
    .updateTable('session_ancestors')
    .set((eb) => ({
      updated_at: eb.selectFrom('sessions').select('updated_at').where('key', '=', p.key),
      archived_at: eb.selectFrom('sessions').select('archived_at').where('key', '=', p.key),
      deleted_at: eb.selectFrom('sessions').select('deleted_at').where('key', '=', p.key),
    }))
    .where('session_key', '=', p.key),
);

const WINDOW_OWNER = defineQuery((db, p: { sessionId: string }) =>
  db.selectFrom('windows').select('session_key').where('session_id', '=', p.sessionId),
);

const END_WINDOWS = defineQuery((db, p: { key: string; at: number }) =>
  db
    .updateTable('windows')
    .set({ ended_at: p.at })
    .where('session_key', '=', p.key)
    .where('ended_at', 'is', null),
);

const NEWEST_START = defineQuery((db, p: { key: string }) =>
  db
    .selectFrom('windows')
    .select('started_at')
    .where('session_key', '=', p.key)
    .orderBy('started_at', 'desc')
    .orderBy('session_id', 'desc')
    .limit(1),
);

const REOPEN_WINDOW = defineQuery((db, p: { sessionId: string }) =>
  db.updateTable('windows').set({ ended_at: null }).where('session_id', '=', p.sessionId),
);

const BY_CHAT = defineQuery((db, p: SessionChat & { limit: number }) =>
  db
    .selectFrom('sessions')
    .selectAll()
    .where('last_channel', '=', p.channel)
    .where('last_to', '=', p.to)
    .where(sql<boolean>`last_channel is not null and last_channel <> 'webchat'`)
    .where('last_account_id', 'is not distinct from', p.accountId)
    .where('last_thread_id', 'is not distinct from', p.threadId)
    .where('deleted_at', 'is', null)
    .limit(p.limit),
);

interface ScanParams {
  updatedAt: number;
  key: string;
  limit: number;
  agentId: string;
  ancestorKey: string;
}

/** One query per kind of scope and archived or not, so that each has a partial index of its own. */
const scanQuery = keyed((shape): Query<ScanParams, SessionRow> => {
  const [scope, archived] = shape.split(' ');
  const isArchived = archived === 'archived';
  if (scope === 'below') return belowQuery(isArchived);
  return defineQuery((db, p: ScanParams) => {
    const query = db
      .selectFrom('sessions')
      .selectAll()
      .where('archived_at', isArchived ? 'is not' : 'is', null)
      .$if(isArchived, (of) => of.where('deleted_at', 'is', null))
      .where((eb) => eb(eb.refTuple('updated_at', 'key'), '<', eb.tuple(p.updatedAt, p.key)))
      .orderBy('updated_at', 'desc')
      .orderBy('key', 'desc')
      .limit(p.limit);
    return scope === 'agent' ? query.where('agent_id', '=', p.agentId) : query;
  });
});

/** The closure has the order, so that as many sessions are read as the page holds. */
function belowQuery(isArchived: boolean): Query<ScanParams, SessionRow> {
  return defineQuery((db, p: ScanParams) =>
    db
      .selectFrom('session_ancestors as below')
      .innerJoin('sessions', 'sessions.key', 'below.session_key')
      .selectAll('sessions')
      .where('below.ancestor_key', '=', p.ancestorKey)
      .where('below.archived_at', isArchived ? 'is not' : 'is', null)
      .$if(isArchived, (of) => of.where('below.deleted_at', 'is', null))
      .where((eb) =>
        eb(eb.refTuple('below.updated_at', 'below.session_key'), '<', eb.tuple(p.updatedAt, p.key)),
      )
      .orderBy('below.updated_at', 'desc')
      .orderBy('below.session_key', 'desc')
      .limit(p.limit),
  );
}

const labelQuery = keyed((scope) =>
  defineQuery((db, p: { label: string; agentId: string; limit: number }) => {
    const query = db
      .selectFrom('sessions')
      .selectAll()
      .where('label', '=', p.label)
      .where('label', 'is not', null)
      .where('archived_at', 'is', null)
      .orderBy('updated_at', 'desc')
      .orderBy('key', 'desc')
      .limit(p.limit);
    return scope === 'agent' ? query.where('agent_id', '=', p.agentId) : query;
  }),
);

const LABELLED_BELOW = defineQuery((db, p: { label: string; ancestorKey: string; limit: number }) =>
  db
    .selectFrom('sessions')
    .innerJoin('session_ancestors', 'session_ancestors.session_key', 'sessions.key')
    .select('sessions.key')
    .where('session_ancestors.ancestor_key', '=', p.ancestorKey)
    .where('sessions.label', '=', p.label)
    .where('sessions.label', 'is not', null)
    .where('sessions.archived_at', 'is', null)
    .orderBy('sessions.updated_at', 'desc')
    .orderBy('sessions.key', 'desc')
    .limit(p.limit),
);

/** Sorts after every row, so that the first page is asked like any other. */
const BEFORE_ALL: SessionCursor = { updatedAt: Number.MAX_SAFE_INTEGER, key: '' };
const WRITE_ONCE: readonly string[] = ['key', 'spawnedBy', 'rootKey', 'spawnDepth'];

export class SqlSessions implements SessionWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(key: string): Promise<SessionRow | undefined> {
    return this.#unit.first(BY_KEY, { key });
  }

  getBySessionId(sessionId: string): Promise<SessionRow | undefined> {
    return this.#unit.first(BY_SESSION_ID, { sessionId });
  }

  scan(query: {
    scope: SessionScope;
    archived: boolean;
    cursor: SessionCursor | undefined;
    limit: number;
  }): Promise<SessionRow[]> {
    const { scope, limit } = query;
    const { updatedAt, key } = query.cursor ?? BEFORE_ALL;
    const agentId = scope.type === 'agent' ? scope.agentId : '';
    const ancestorKey = scope.type === 'below' ? scope.ancestorKey : '';
    return this.#unit.all(scanQuery(`${scope.type} ${query.archived ? 'archived' : 'live'}`), {
      updatedAt,
      key,
      limit,
      agentId,
      ancestorKey,
    });
  }

  findByLabel(query: { label: string; agentId?: string; limit: number }): Promise<SessionRow[]> {
    const { label, agentId, limit } = query;
    return this.#unit.all(labelQuery(agentId === undefined ? 'everything' : 'agent'), {
      label,
      agentId: agentId ?? '',
      limit,
    });
  }

  async labelledBelow(query: {
    label: string;
    ancestorKey: string;
    limit: number;
  }): Promise<string[]> {
    return (await this.#unit.all(LABELLED_BELOW, query)).map(({ key }) => key);
  }

  findByChat(query: SessionChat & { limit: number }): Promise<SessionRow[]> {
    return this.#unit.all(BY_CHAT, query);
  }

  async isDescendant(ancestorKey: string, key: string): Promise<boolean> {
    return (await this.#unit.first(IS_DESCENDANT, { ancestorKey, key })) !== undefined;
  }

  async busyBelow(ancestorKey: string): Promise<string[]> {
    return (await this.#unit.all(BUSY_BELOW, { ancestorKey })).map((row) => row.sessionKey);
  }

  async countActiveChildren(key: string): Promise<number> {
    return (await this.#unit.first(COUNT_ACTIVE_CHILDREN, { key }))?.total ?? 0;
  }

  async count(): Promise<number> {
    return (await this.#unit.first(COUNT, {}))?.total ?? 0;
  }

  async clocks(afterKey: string, limit: number): Promise<{ key: string; archiveAt: number }[]> {
    const rows = await this.#unit.all(CLOCKS, { afterKey, limit });
    return rows.map(({ key, archiveAt }) => ({ key, archiveAt: archiveAt ?? 0 }));
  }

  archivedBefore(page: DuePage): Promise<SessionRow[]> {
    return this.#unit.all(ARCHIVED_BEFORE, duePosition(page));
  }

  async hasDescendants(key: string): Promise<boolean> {
    return (await this.#unit.first(FIRST_BELOW, { key })) !== undefined;
  }

  async insert(row: SessionRow): Promise<void> {
    if (!(await this.#unit.insertNew('sessions', row))) {
      throw new GatewayError('invalid_request', `session ${row.key} exists already`);
    }
    await this.#openWindow(row.key, row.sessionId, row.createdAt);
    const { key, spawnedBy, updatedAt, archivedAt, deletedAt } = row;
    if (spawnedBy === null) return;
    const place = { updatedAt, archivedAt, deletedAt };
    await this.#unit.change(INHERIT_ANCESTORS, { key, parentKey: spawnedBy, ...place });
    const parent = { sessionKey: key, ancestorKey: spawnedBy };
    await this.#unit.insert('session_ancestors', { ...parent, ...place });
  }

  async update(
    key: string,
    patch: Partial<Omit<SessionRow, 'key' | 'spawnedBy' | 'rootKey' | 'spawnDepth'>>,
  ): Promise<void> {
    for (const property of Object.keys(patch)) {
      assert(!WRITE_ONCE.includes(property), `sessions.${property} is write-once`);
    }
    const row = { name: 'key', value: key } as const;
    if (PLACE.every((property) => patch[property] === undefined)) {
      await this.#unit.update('sessions', row, patch);
    } else {
      const moved = { key: row, patch, column: 'spawnedBy' } as const;
      const parentKey = await this.#unit.updateReading('sessions', moved);
      if (parentKey !== null) await this.#unit.change(MOVE_BELOW, { key });
    }
    if (patch.sessionId !== undefined) {
      const at = this.#unit.now;
      await this.#unit.change(END_WINDOWS, { key, at });
      await this.#openWindow(key, patch.sessionId, at);
    }
  }

  async #openWindow(sessionKey: string, sessionId: string, startedAt: number): Promise<void> {
    const owner = await this.#unit.first(WINDOW_OWNER, { sessionId });
    if (owner === undefined) {
      const newest = await this.#unit.first(NEWEST_START, { key: sessionKey });
      // also when the clock was set back: a key's windows are read in the order of their starts
      const after = newest === undefined ? startedAt : Math.max(startedAt, newest.startedAt + 1);
      const fresh = { sessionId, sessionKey, startedAt: after, endedAt: null };
      const empty = {
        nextSeq: 1,
        lastEntryId: null,
        childrenSpawned: 0,
        deletedAt: null,
        purgeAt: null,
      };
      await this.#unit.insert('windows', { ...fresh, ...empty });
    } else if (owner.sessionKey === sessionKey) {
      await this.#unit.change(REOPEN_WINDOW, { sessionId });
    } else {
      throw new GatewayError(
        'invalid_request',
        `sessionId ${sessionId} belongs to session ${owner.sessionKey}; give ${sessionKey} another`,
      );
    }
  }
}
