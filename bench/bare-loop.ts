/** The yardstick: a loop over `node:sqlite` that leaves the same rows, with nothing around it. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

export interface BareLoop {
  /** Inserts what the other database has got since the last call; returns messages per second. */
  insertedPerSecond(): number;
  close(): void;
}

type Values = SQLInputValue[];

/** One accepted message: an input, a run, and the place of its lane. */
interface Message {
  input: Values;
  run: Values;
  lane: [key: string, nextSeq: number, readyAt: number];
}

const LANE = `insert into lanes (session_key, epoch, next_seq, pending, head_class, state, ready_at)
  values (?, 0, ?, 1, 'nested', 'queued', ?)
  on conflict (session_key) do update set next_seq = excluded.next_seq, pending = lanes.pending + 1`;

/** Opens a loop that copies what is accepted in `from` to `to`, `group` messages a transaction. */
export function openBareLoop({
  from,
  to,
  group,
}: {
  from: string;
  to: string;
  group: number;
}): BareLoop {
  const source = new DatabaseSync(from, { readOnly: true });
  const target = new DatabaseSync(to);
  // the same promise: a commit is on the disk when it returns
  target.exec('pragma journal_mode = wal; pragma synchronous = full');
  const insertInput = insertionOf(target, 'inputs');
  const insertRun = insertionOf(target, 'runs');
  const upsertLane = target.prepare(LANE);
  let seen = 0;
  return {
    insertedPerSecond: () => {
      const messages = readMessages(source, seen);
      seen += messages.length;
      const before = performance.now();
      for (let at = 0; at < messages.length; at += group) {
        target.exec('begin immediate');
        for (const { input, run, lane } of messages.slice(at, at + group)) {
          upsertLane.run(...lane);
          insertInput.run(...input);
          insertRun.run(...run);
        }
        target.exec('commit');
      }
      return (messages.length * 1000) / (performance.now() - before);
    },
    close: () => {
      source.close();
      target.close();
    },
  };
}

/** Opens a database whose `commit` writes one row and waits for the disk, as each step of a run does. */
export function openBareCommit(path: string): { commit(): void; close(): void } {
  const db = new DatabaseSync(path);
  db.exec('pragma journal_mode = wal; pragma synchronous = full; create table rows (text text)');
  const insert = db.prepare('insert into rows values (?)');
  const text = 'a row as long as a short message of a chat '.repeat(10);
  return { commit: () => void insert.run(text), close: () => db.close() };
}

function readMessages(source: DatabaseSync, offset: number): Message[] {
  const page = 'order by rowid limit -1 offset ?';
  const inputs = source.prepare(`select * from inputs ${page}`).all(offset);
  const runs = source.prepare(`select * from runs ${page}`).all(offset);
  return inputs.map((input, at) => ({
    input: Object.values(input),
    run: Object.values(runs[at] ?? {}),
    lane: [String(input['session_key']), Number(input['seq']) + 1, Number(input['accepted_at'])],
  }));
}

function insertionOf(db: DatabaseSync, table: string): StatementSync {
  const columns = db.prepare(`pragma table_info(${table})`).all();
  return db.prepare(`insert into ${table} values (${columns.map(() => '?').join(', ')})`);
}
