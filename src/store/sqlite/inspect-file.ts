import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { toStoreError } from './to-store-error.ts';

export interface FileReport {
  /** what the database says of its own damage; empty when it is whole */
  damage: string[];
  /** 0 when it is no store of ours, or cannot be read that far */
  schemaVersion: number;
  /** bytes */
  size: number;
}

/** More lines say nothing that the first ones do not. */
const MAX_DAMAGE = 20;

/** Looks a database file through from end to end, without writing to it. Throws only when it cannot be opened. */
export function inspectFile(path: string): FileReport {
  const { size } = statSync(path);
  if (size === 0) return { damage: ['the file has 0 bytes'], schemaVersion: 0, size };
  let db: DatabaseSync;
  try {
    db = new DatabaseSync(path, { readOnly: true });
  } catch (error) {
    throw toStoreError(error, path);
  }
  try {
    return { damage: findDamage(db), schemaVersion: readSchemaVersion(db), size };
  } finally {
    db.close();
  }
}

function findDamage(db: DatabaseSync): string[] {
  try {
    const rows = db.prepare(`pragma integrity_check(${MAX_DAMAGE})`).all();
    const lines = rows.map((row) => String(row['integrity_check']));
    return lines.length === 1 && lines[0] === 'ok' ? [] : lines;
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

function readSchemaVersion(db: DatabaseSync): number {
  try {
    const row = db.prepare('select coalesce(max(version), 0) as version from schema_version').get();
    return Number(row?.['version']);
  } catch {
    // no such table, or not readable: the damage is told by the other half
    return 0;
  }
}
