/** A look into the database of a campaign from outside. */
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { connectOptions } from '../../src/store/postgres/connect-options.ts';

export type Database = { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string };
export type Row = Record<string, string | number | null>;
export type Query = (sql: string) => Promise<Row[]>;

/** Reads a database that gateways may be writing to. */
export async function inDatabase<T>(
  database: Database,
  read: (query: Query) => Promise<T>,
): Promise<T> {
  return database.kind === 'sqlite' ? inFile(database.path, read) : onServer(database.url, read);
}

async function inFile<T>(path: string, read: (query: Query) => Promise<T>): Promise<T> {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    return await read((sql) => Promise.resolve(db.prepare(sql).all() as Row[]));
  } finally {
    db.close();
  }
}

async function onServer<T>(url: string, read: (query: Query) => Promise<T>): Promise<T> {
  const client = new pg.Client(connectOptions(url));
  await client.connect();
  try {
    return await read(async (sql) => (await client.query<Row>(sql)).rows);
  } finally {
    await client.end();
  }
}

/** Jobs that are due some time in any case. */
const HOUSEKEEPING = "'archive-session', 'maintain-sessions'";

/** Returns the statement that reads all open jobs that somebody waits for. */
export function jobsSql({ kind }: Database): string {
  return kind === 'sqlite'
    ? `select job_key from jobs where kind not in (${HOUSEKEEPING})`
    : `select key as job_key from graphile_worker.jobs where task_identifier not in (${HOUSEKEEPING})`;
}

/** True while somebody will still go on: a run that has not ended, or a job. */
export function workLeft(database: Database): Promise<boolean> {
  return inDatabase(database, async (query) => {
    const runs = await query(
      "select 1 from runs where state in ('queued', 'running', 'waiting') limit 1",
    );
    return runs.length + (await query(`${jobsSql(database)} limit 1`)).length > 0;
  });
}

/** Returns the sessions with notes that no turn has taken in yet. */
export function pendingNotes(database: Database): Promise<string[]> {
  return inDatabase(database, async (query) => {
    const rows = await query(
      "select distinct session_key from inputs where state = 'pending' and kind in ('note', 'announce', 'summary')",
    );
    return rows.map((row) => String(row['session_key']));
  });
}
