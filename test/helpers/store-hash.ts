/** What a store holds, as one hash, seen from outside. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Returns the hash of every row of every table; the words of searches follow from them. */
export function hashRows(db: DatabaseSync): string {
  const hash = createHash('sha256');
  const tables = db.prepare(
    "select name from sqlite_schema where type = 'table' and name not like 'search%'",
  );
  for (const { name } of tables.all())
    for (const row of db.prepare(`select * from "${String(name)}"`).iterate())
      hash.update(
        JSON.stringify(row, (_key, value: unknown) =>
          typeof value === 'bigint' ? String(value) : value,
        ),
      );
  return hash.digest('hex');
}

/** Returns the hash of the store of a state directory. */
export function hashOfStore(stateDir: string): string {
  const db = new DatabaseSync(join(stateDir, 'trunkline.db'), { readOnly: true });
  try {
    return hashRows(db);
  } finally {
    db.close();
  }
}
