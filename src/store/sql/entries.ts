import { sql } from 'kysely';
import { GatewayError } from '../../protocol/errors.ts';
import type { EntryRow, EntryWrites } from '../transcript-repository.ts';
import { cleanJson } from './clean-text.ts';
import type { SqlDialect } from './dialect.ts';
import { defineQuery, keyed } from './query.ts';
import { indexMessage } from './search.ts';
import type { SqlUnit } from './sql-unit.ts';

type NewEntry = Parameters<EntryWrites['append']>[0];

/** Takes seq and parent from the window, in one statement. */
const APPEND = defineQuery((db, p: NewEntry) =>
  db
    .insertInto('entries')
    .columns([
      'session_id',
      'seq',
      'entry_id',
      'parent_id',
      'type',
      'role',
      'run_id',
      'json',
      'created_at',
    ])
    .expression((eb) =>
      eb
        .selectFrom('windows')
        .select((of) => [
          'session_id',
          'next_seq',
          of.val(p.entryId).as('entry_id'),
          'last_entry_id',
          of.val(p.type).as('type'),
          of.val(p.role).as('role'),
          of.val(p.runId).as('run_id'),
          of.val(p.json).as('json'),
          of.val(p.createdAt).as('created_at'),
        ])
        .where('session_id', '=', p.sessionId),
    )
    .returning('seq'),
);

const ADVANCE_WINDOW = defineQuery((db, p: { sessionId: string; seq: number; entryId: string }) =>
  db
    .updateTable('windows')
    .set((eb) => ({ next_seq: eb('next_seq', '+', eb.lit(1)), last_entry_id: p.entryId }))
    .where('session_id', '=', p.sessionId)
    .where('next_seq', '=', p.seq),
);

interface Tail {
  sessionId: string;
  includeTools: boolean;
  beforeSeq: number | undefined;
  limit: number;
}
type What = 'chat' | 'messages';
interface TailParams {
  sessionId: string;
  beforeSeq: number;
  limit: number;
}

const tailQuery = keyed((what: What) =>
  defineQuery((db, p: TailParams) => newestOf(db, p, what).selectAll()),
);

const tailSizesQuery = keyed((what: What) =>
  defineQuery((db, p: TailParams) => newestOf(db, p, what).select(['seq', jsonBytes()])),
);

/** Answered from the header of the row: a large text is not read for it. */
function jsonBytes() {
  return sql<number>`octet_length(${sql.ref('json')})`.as('bytes');
}

function newestOf(db: SqlDialect['db'], p: TailParams, what: What) {
  // literals, because a partial index is chosen by the text of the query
  const messages = db
    .selectFrom('entries')
    .where('session_id', '=', p.sessionId)
    .where('seq', '<', p.beforeSeq)
    .where('type', '=', sql.lit('message'))
    .orderBy('seq', 'desc')
    .limit(p.limit);
  return what === 'chat' ? messages.where('role', '<>', sql.lit('toolResult')) : messages;
}

function tailParams({ sessionId, beforeSeq, limit }: Tail): TailParams {
  return { sessionId, beforeSeq: beforeSeq ?? Number.MAX_SAFE_INTEGER, limit };
}

function whatOf({ includeTools }: Tail): What {
  return includeTools ? 'messages' : 'chat';
}

interface PageParams {
  sessionId: string;
  afterSeq: number;
  limit: number;
}

const PAGE = defineQuery((db, p: PageParams) => entriesAfter(db, p).selectAll());

const PAGE_SIZES = defineQuery((db, p: PageParams) =>
  entriesAfter(db, p).select(['seq', jsonBytes()]),
);

function entriesAfter(db: SqlDialect['db'], p: PageParams) {
  return db
    .selectFrom('entries')
    .where('session_id', '=', p.sessionId)
    .where('seq', '>', p.afterSeq)
    .orderBy('seq')
    .limit(p.limit);
}

const CONTEXT = defineQuery((db, p: { sessionId: string }) =>
  db
    .selectFrom('entries')
    .selectAll()
    .where('session_id', '=', p.sessionId)
    .where('seq', '>=', (eb) =>
      eb.fn.coalesce(
        eb
          .selectFrom('entries')
          .select((of) => of.fn.max('seq').as('seq'))
          .where('session_id', '=', p.sessionId)
          .where('type', '=', sql.lit('compaction')),
        eb.lit(0),
      ),
    )
    .orderBy('seq'),
);

const OF_RUN = defineQuery((db, p: { sessionId: string; runId: string }) =>
  db
    .selectFrom('entries')
    .selectAll()
    .where('run_id', '=', p.runId)
    .where('session_id', '=', p.sessionId)
    .orderBy('seq'),
);

export class SqlEntries implements EntryWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  async tail(query: Tail): Promise<EntryRow[]> {
    const newestFirst = await this.#unit.all(tailQuery(whatOf(query)), tailParams(query));
    return newestFirst.reverse();
  }

  tailSizes(query: Tail): Promise<{ seq: number; bytes: number }[]> {
    return this.#unit.all(tailSizesQuery(whatOf(query)), tailParams(query));
  }

  page(query: PageParams): Promise<EntryRow[]> {
    return this.#unit.all(PAGE, query);
  }

  pageSizes(query: PageParams): Promise<{ seq: number; bytes: number }[]> {
    return this.#unit.all(PAGE_SIZES, query);
  }

  context(sessionId: string): Promise<EntryRow[]> {
    return this.#unit.all(CONTEXT, { sessionId });
  }

  ofRun(sessionId: string, runId: string): Promise<EntryRow[]> {
    return this.#unit.all(OF_RUN, { sessionId, runId });
  }

  async append(entry: NewEntry): Promise<number> {
    const { sessionId, entryId, type } = entry;
    const json = cleanJson(entry.json);
    const added = await this.#unit.first(APPEND, { ...entry, json });
    if (added === undefined) throw new GatewayError('not_found', `there is no window ${sessionId}`);
    await this.#unit.change(ADVANCE_WINDOW, { sessionId, seq: added.seq, entryId });
    if (type === 'message') await indexMessage(this.#unit, { sessionId, seq: added.seq, json });
    return added.seq;
  }
}
