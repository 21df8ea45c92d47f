/** A look into the database of a campaign from outside. */
import { DatabaseSync } from 'node:sqlite';

export type Row = Record<string, string | number | null>;
export type Query = (sql: string) => Row[];

/** Reads a database file that a gateway may be writing to. */
export function inDatabase<T>(path: string, read: (query: Query) => T): T {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  try {
    return read((sql) => db.prepare(sql).all() as Row[]);
  } finally {
    db.close();
  }
}

/** True while somebody will still go on: a run that has not ended, or a job. */
export function workLeft(path: string): boolean {
  return inDatabase(path, (query) => {
    const runs = query(
      "select 1 from runs where state in ('queued', 'running', 'waiting') limit 1",
    );
    return (
      runs.length +
        query(
          "select 1 from jobs where kind not in ('archive-session', 'maintain-sessions') limit 1",
        ).length >
      0
    );
  });
}

/** Returns the sessions with notes that no turn has taken in yet. */
export function pendingNotes(path: string): string[] {
  return inDatabase(path, (query) =>
    query(
      "select distinct session_key from inputs where state = 'pending' and kind in ('note', 'announce')",
    ).map((row) => String(row['session_key'])),
  );
}
