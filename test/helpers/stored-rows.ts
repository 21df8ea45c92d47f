/** All that a store holds, seen from outside. */
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { databaseOf } from './open-gateway.ts';

/** Returns every row of every table, by table; with a store of the same rows it is equal. */
export function storedRows(stateDir: string): Record<string, Record<string, SQLOutputValue>[]> {
  const db = new DatabaseSync(databaseOf(stateDir), { readOnly: true });
  try {
    const tables = db.prepare("select name from sqlite_master where type = 'table'").all();
    return Object.fromEntries(
      tables.map(({ name }) => [name, db.prepare(`select * from "${String(name)}"`).all()]),
    );
  } finally {
    db.close();
  }
}
