import type { Kysely, SelectQueryBuilder } from 'kysely';
import type { Tables } from './tables.ts';

/**
 * What differs between databases. Everything else in this folder is the same SQL everywhere.
 * Contract: one object per kind of database, for the life of the process: compiled queries are
 * cached by it.
 */
export interface SqlDialect {
  /** a query builder that only compiles; it has no driver */
  readonly db: Kysely<Tables>;
  /** the table `jobs` is ours; false where a job worker brings its own */
  readonly hasJobs: boolean;
  /** how the words of messages are kept: see `full-text.ts` */
  readonly fullText: 'fts5' | 'tsvector';
  /** type of a text column that rows are ordered by: by its bytes */
  readonly sortedText: string;
  /** ends `create table` of a small table that is stored in its primary key, where that exists */
  readonly clusteredTable: string;
  /** Locks the selected rows to the end of the transaction. */
  forUpdate<T extends keyof Tables, O>(
    query: SelectQueryBuilder<Tables, T, O>,
  ): SelectQueryBuilder<Tables, T, O>;
  /** The same, but passes over rows that another transaction holds. */
  forUpdateSkipLocked<T extends keyof Tables, O>(
    query: SelectQueryBuilder<Tables, T, O>,
  ): SelectQueryBuilder<Tables, T, O>;
}
