import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { SqlDialect } from '../sql/dialect.ts';
import type { Tables } from '../sql/tables.ts';

/** SQLite has one writer at a time, so that there are no rows to lock. */
export const sqliteDialect: SqlDialect = {
  db: new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  }),
  hasJobs: true,
  fullText: 'fts5',
  sortedText: 'text',
  clusteredTable: ' without rowid',
  forUpdate: (query) => query,
  forUpdateSkipLocked: (query) => query,
};
