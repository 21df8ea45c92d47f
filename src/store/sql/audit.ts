import type { SelectQueryBuilder } from 'kysely';
import type { AuditCursor, AuditReads, AuditRow, AuditWrites } from '../audit-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';
import type { Tables } from './tables.ts';

type Position = AuditCursor & { limit: number };
type Lines = SelectQueryBuilder<Tables, 'audit', object>;

/** Sorts after every row, so that the first page is asked like any other. */
const BEFORE_ALL: AuditCursor = { at: Number.MAX_SAFE_INTEGER, id: '' };

function newestFirst(lines: Lines, p: Position) {
  return lines
    .selectAll()
    .where((eb) => eb(eb.refTuple('at', 'id'), '<', eb.tuple(p.at, p.id)))
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(p.limit);
}

const PAGE = defineQuery((db, p: Position) => newestFirst(db.selectFrom('audit'), p));

const PAGE_OF_SESSION = defineQuery((db, p: Position & { sessionKey: string }) =>
  newestFirst(
    db
      .selectFrom('audit')
      .where('session_key', '=', p.sessionKey)
      .where('session_key', 'is not', null),
    p,
  ),
);

const PAGE_OF_SUBJECT = defineQuery(
  (db, p: Position & { subjectKind: string; subjectId: string }) =>
    newestFirst(
      db
        .selectFrom('audit')
        .where('subject_kind', '=', p.subjectKind)
        .where('subject_id', '=', p.subjectId),
      p,
    ),
);

const PAGE_OF_ACTION = defineQuery((db, p: Position & { action: string }) =>
  newestFirst(db.selectFrom('audit').where('action', '=', p.action), p),
);

const PAGE_OF_ACTOR = defineQuery((db, p: Position & { actor: string }) =>
  newestFirst(db.selectFrom('audit').where('actor', '=', p.actor), p),
);

export class SqlAudit implements AuditWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  page({ of, cursor = BEFORE_ALL, limit }: Parameters<AuditReads['page']>[0]): Promise<AuditRow[]> {
    const position = { ...cursor, limit };
    if (of === undefined) return this.#unit.all(PAGE, position);
    if ('sessionKey' in of) return this.#unit.all(PAGE_OF_SESSION, { ...of, ...position });
    if ('action' in of) return this.#unit.all(PAGE_OF_ACTION, { ...of, ...position });
    if ('actor' in of) return this.#unit.all(PAGE_OF_ACTOR, { ...of, ...position });
    return this.#unit.all(PAGE_OF_SUBJECT, { ...of, ...position });
  }

  insert(row: AuditRow): Promise<void> {
    return this.#unit.insert('audit', row);
  }
}
