/** Texts whose words are as frequent as those of a language, and a store full of them. */
import { DatabaseSync } from 'node:sqlite';
import { rebuildSearch } from '../src/store/sql/fill-search.ts';
import { runSteps } from '../src/store/sqlite/run-steps.ts';
import { SqliteConnection } from '../src/store/sqlite/sqlite-connection.ts';
import { sqliteDialect } from '../src/store/sqlite/sqlite-dialect.ts';

const VOCABULARY = 20_000;
/** about 200 characters */
const WORDS_PER_MESSAGE = 30;

/** Returns the word of that rank, 1 = the most frequent; words of near ranks share their beginning. */
export function wordAt(rank: number): string {
  return `w${rank.toString(36).padStart(5, 'qx')}`;
}

/** Adds messages to the sessions that are there, then fills the index; returns the seconds that took. */
export function seedWords(path: string, messages: number): number {
  insertMessages(path, messages);
  const connection = new SqliteConnection(path, { readOnly: false });
  try {
    const before = performance.now();
    connection.run('begin immediate');
    runSteps(connection, rebuildSearch(sqliteDialect));
    connection.run('commit');
    return Math.round((performance.now() - before) / 100) / 10;
  } finally {
    connection.close();
  }
}

function insertMessages(path: string, messages: number): void {
  const db = new DatabaseSync(path);
  const windows = db.prepare('select session_id from windows').all();
  const insert = db.prepare(`insert into entries
    (session_id, seq, entry_id, type, role, json, created_at)
    values (?, ?, ?, 'message', 'user', ?, ?)`);
  const random = createRandom(1);
  db.exec('begin');
  for (let at = 0; at < messages; at += 1) {
    const window = windows[at % windows.length];
    const seq = Math.floor(at / windows.length) + 1;
    const text = Array.from({ length: WORDS_PER_MESSAGE }, () => wordAt(rankOf(random()))).join(
      ' ',
    );
    const json = JSON.stringify({ role: 'user', content: [{ type: 'text', text }], timestamp: at });
    insert.run(String(window?.['session_id']), seq, `entry ${at}`, json, at);
  }
  db.exec(`update windows set next_seq =
    (select coalesce(max(seq), 0) + 1 from entries e where e.session_id = windows.session_id)`);
  db.exec('commit');
  db.close();
}

/** As often as 1/rank, the law of words in a language. */
function rankOf(random: number): number {
  return Math.floor(VOCABULARY ** random);
}

/** The same texts at each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
