/** The rows of transcripts, and what reads, writes and finds them. */
import type { SearchUnit } from '../core/search-query.ts';

/** One line of a window; append only. */
export interface EntryRow {
  sessionId: string;
  seq: number;
  entryId: string;
  parentId: string | null;
  /** `message`, `compaction`, `model_change`, … */
  type: string;
  /** role of a `message`, else null */
  role: 'user' | 'assistant' | 'toolResult' | null;
  runId: string | null;
  /** for `message`: the message itself; else the whole entry */
  json: string;
  createdAt: number;
}

export interface EntryReads {
  /** The newest `limit` messages before `beforeSeq`, in append order. Filter first, then limit (BR-133). */
  tail(query: {
    sessionId: string;
    includeTools: boolean;
    beforeSeq: number | undefined;
    limit: number;
  }): Promise<EntryRow[]>;
  /** Place and size in bytes of what `tail` would return, newest first; their content is not read. */
  tailSizes(query: {
    sessionId: string;
    includeTools: boolean;
    beforeSeq: number | undefined;
    limit: number;
  }): Promise<{ seq: number; bytes: number }[]>;
  /** Entries of every type after `afterSeq`, in order, at most `limit`. One index search. */
  page(query: { sessionId: string; afterSeq: number; limit: number }): Promise<EntryRow[]>;
  /** Place and size in bytes of what `page` would return; their content is not read. */
  pageSizes(query: {
    sessionId: string;
    afterSeq: number;
    limit: number;
  }): Promise<{ seq: number; bytes: number }[]>;
  /** All entries of a window in order, from the newest `compaction` on when there is one. */
  context(sessionId: string): Promise<EntryRow[]>;
  /** Entries that this run appended, in order. */
  ofRun(sessionId: string, runId: string): Promise<EntryRow[]>;
}

export interface EntryWrites extends EntryReads {
  /** Appends one entry and returns its seq. U+0000 and lone surrogates are replaced by U+FFFD. */
  append(entry: {
    sessionId: string;
    entryId: string;
    type: string;
    role: EntryRow['role'];
    runId: string | null;
    json: string;
    createdAt: number;
  }): Promise<number>;
}

/** A message that a search has found; its content is not read yet. */
export interface SearchHit {
  /** place in the order of the search: grows with time */
  searchId: number;
  sessionId: string;
  seq: number;
  /** null: a transcript of no session */
  sessionKey: string | null;
  /** when its transcript was deleted, null = it was not */
  deletedAt: number | null;
  /** size of the stored message, null: it is not there */
  bytes: number | null;
}

export interface SearchReads {
  /**
   * Messages of these scopes and single sessions that have all units, the newest first, strictly
   * before `before`. One index search.
   */
  find(query: SearchQuery): Promise<SearchHit[]>;
}

/** Which messages a search walks, each kind as the index itself has it. */
export type SearchScope =
  | { type: 'everything' }
  | { type: 'agent'; agentId: string }
  /** every session with this topmost session */
  | { type: 'root'; rootKey: string };

export interface SearchQuery {
  units: readonly SearchUnit[];
  scopes: readonly SearchScope[];
  keys: readonly string[];
  before: number | undefined;
  limit: number;
}
