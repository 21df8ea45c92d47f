import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import type { SqlDialect } from '../sql/dialect.ts';
import type { Tables } from '../sql/tables.ts';

/** Postgres has many writers: rows are locked, and a claim passes over those that others hold. */
export const postgresDialect: SqlDialect = {
  db: new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
  // graphile-worker
  hasJobs: false,
  fullText: 'tsvector',
  // by bytes, as in SQLite: pages and claims have one order whatever the language of the database
  sortedText: 'text collate "C"',
  clusteredTable: '',
  forUpdate: (query) => query.forUpdate(),
  forUpdateSkipLocked: (query) => query.forUpdate().skipLocked(),
};
