/** Taking the messages that are there into the full-text index: once by a migration, and to make it again. */
import { searchMarksOf, searchTermsOf } from '../../core/message-search.ts';
import { parseStoredMessage } from '../../core/stored-message.ts';
import type { SqlDialect } from './dialect.ts';
import { FULL_TEXT, type IndexedMessage } from './full-text.ts';
import type { SqlStatement, SqlSteps } from './sql-steps.ts';
import { createRowMapper } from './tables.ts';

/** Messages whose sizes are looked at together, */
const BATCH_ROWS = 500;
/** and bytes of messages that are held together, beyond the first. */
const BATCH_BYTES = 4 * 1024 * 1024;

/** One message with its place: what `toIndexed` reads. */
const MESSAGES = `
  select n.id, e.json, w.session_key, s.root_key, s.agent_id
  from search_entries n
  join entries e on e.session_id = n.session_id and e.seq = n.seq
  left join windows w on w.session_id = n.session_id
  left join sessions s on s.key = w.session_key`;

/** Fills the empty tables from the entries; holds some megabytes, however many there are. */
export function* fillSearch(dialect: SqlDialect): SqlSteps {
  const fullText = FULL_TEXT[dialect.fullText];
  // the order of the numbers is the order of answers
  yield step(`insert into search_entries (session_id, seq, words)
    select session_id, seq, 0 from entries where type = 'message'
    order by created_at, session_id, seq`);
  for (let after = 0; ;) {
    const sizes = yield step(`select n.id, octet_length(e.json) as bytes from search_entries n
      join entries e on e.session_id = n.session_id and e.seq = n.seq
      where n.id > ${after} order by n.id limit ${BATCH_ROWS}`);
    const last = endOfBatch(sizes);
    if (last === undefined) break;
    const rows = yield step(`${MESSAGES} where n.id > ${after} and n.id <= ${last}`);
    const messages = rows.map(toIndexed).filter(({ terms }) => terms.length > 0);
    if (messages.length > 0) for (const statement of fullText.fill(messages)) yield statement;
    after = last;
  }
  for (const sql of fullText.afterFill) yield step(sql);
}

/** Makes the index again from the entries. */
export function* rebuildSearch(dialect: SqlDialect): SqlSteps {
  const { beforeTables, tables } = FULL_TEXT[dialect.fullText];
  for (const sql of [...beforeTables, ...tables]) yield step(sql);
  yield* fillSearch(dialect);
}

function step(sql: string): SqlStatement {
  return { sql, params: [] };
}

function endOfBatch(sizes: readonly Record<string, unknown>[]): number | undefined {
  let bytes = 0;
  let last: number | undefined;
  for (const row of sizes) {
    bytes += Number(row['bytes']);
    if (last !== undefined && bytes > BATCH_BYTES) break;
    last = Number(row['id']);
  }
  return last;
}

interface StoredMessage {
  id: number;
  json: string;
  sessionKey: string | null;
  rootKey: string | null;
  agentId: string | null;
}

function toIndexed(record: Record<string, unknown>): IndexedMessage {
  const row = toStored(record) as unknown as StoredMessage;
  const message = parseStoredMessage(row.json);
  const { sessionKey, rootKey, agentId } = row;
  const place = { sessionKey: sessionKey ?? '', rootKey: rootKey ?? '', agentId: agentId ?? '' };
  return {
    id: row.id,
    terms: message === undefined ? [] : searchTermsOf(message),
    marks: searchMarksOf(place),
  };
}
const toStored = createRowMapper(['id', 'json', 'session_key', 'root_key', 'agent_id']);
