import { sql } from 'kysely';
import {
  agentMark,
  rootMark,
  searchMarksOf,
  searchTermsOf,
  sessionMark,
} from '../../core/message-search.ts';
import { parseStoredMessage } from '../../core/stored-message.ts';
import { must } from '../../util/assert.ts';
import type { SearchHit, SearchQuery, SearchReads, SearchScope } from '../transcript-repository.ts';
import { FULL_TEXT } from './full-text.ts';
import { defineQuery, defineSql } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const PLACE = defineQuery((db, p: { sessionId: string }) =>
  db
    .selectFrom('windows')
    .innerJoin('sessions', 'sessions.key', 'windows.session_key')
    .select(['sessions.key as session_key', 'sessions.root_key', 'sessions.agent_id'])
    .where('windows.session_id', '=', p.sessionId),
);

interface NewNumber {
  sessionId: string;
  seq: number;
  words: number;
  document: string | null;
}

/** Gives a message its number; where the terms are a column of the same row, with them. */
const NUMBER = defineSql<NewNumber, { id: number }>((p, { fullText }) =>
  fullText === 'fts5'
    ? sql`insert into search_entries (session_id, seq, words)
        values (${p.sessionId}, ${p.seq}, ${p.words}) returning id`
    : sql`insert into search_entries (session_id, seq, words, terms)
        values (${p.sessionId}, ${p.seq}, ${p.words}, ${p.document}::tsvector) returning id`,
);

const ADD_TERMS = defineSql<{ id: number; document: string }, never>(
  (p) => sql`insert into search_terms (rowid, terms) values (${p.id}, ${p.document})`,
);

/** Takes a message into the index, in the unit that appends it. One that cannot be read stays out. */
export async function indexMessage(
  unit: SqlUnit,
  { sessionId, seq, json }: { sessionId: string; seq: number; json: string },
): Promise<void> {
  const { fullText } = unit.dialect;
  const message = parseStoredMessage(json);
  const terms = message === undefined ? [] : searchTermsOf(message);
  const place = terms.length === 0 ? undefined : await unit.first(PLACE, { sessionId });
  const marks = place === undefined ? [] : searchMarksOf(place);
  const document = terms.length === 0 ? null : FULL_TEXT[fullText].toDocument({ terms, marks });
  const added = await unit.first(NUMBER, { sessionId, seq, words: terms.length, document });
  if (fullText === 'tsvector' || document === null) return;
  await unit.change(ADD_TERMS, { id: must(added, 'search entry').id, document });
}

interface Found {
  match: string;
  before: number;
  limit: number;
}

/** In the order of the index, so that the walk ends at the limit. */
const FIND = defineSql<Found, SearchHit>((p, { fullText }) => {
  const found =
    fullText === 'fts5'
      ? sql`search_terms t cross join search_entries n on n.id = t.rowid`
      : sql`search_entries n`;
  const isFound =
    fullText === 'fts5'
      ? sql`t.search_terms match ${p.match} and t.rowid < ${p.before} order by t.rowid desc`
      : sql`n.terms @@ ${p.match}::tsquery and n.id < ${p.before} order by n.id desc`;
  return sql`select n.id as search_id, n.session_id, n.seq, w.session_key,
      coalesce(w.purge_at, w.deleted_at) as deleted_at, octet_length(e.json) as bytes
    from ${found}
    left join entries e on e.session_id = n.session_id and e.seq = n.seq
    left join windows w on w.session_id = n.session_id
    where ${isFound} limit ${p.limit}`;
});

export class SqlSearch implements SearchReads {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  find({ units, scopes, keys, before, limit }: SearchQuery): Promise<SearchHit[]> {
    const isEverything = scopes.some(({ type }) => type === 'everything');
    const marks = isEverything ? [] : [...scopes.map(markOf), ...keys.map(sessionMark)];
    const match = FULL_TEXT[this.#unit.dialect.fullText].match(units, marks);
    return this.#unit.all(FIND, { match, before: before ?? Number.MAX_SAFE_INTEGER, limit });
  }
}

function markOf(scope: SearchScope): string {
  switch (scope.type) {
    case 'everything':
      throw new Error('everything has no mark');
    case 'agent':
      return agentMark(scope.agentId);
    case 'root':
      return rootMark(scope.rootKey);
  }
}
