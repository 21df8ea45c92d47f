/** Reading and writing sessions and the windows of their keys. */
import type { SessionChat, SessionRow, WindowRow } from './rows.ts';

/** A page position in newest-first order. */
export interface SessionCursor {
  updatedAt: number;
  key: string;
}

/** Which sessions a scan walks, newest first, each from one index. */
export type SessionScope =
  | { type: 'everything' }
  | { type: 'agent'; agentId: string }
  /** the descendants of `ancestorKey` at any depth, without it */
  | { type: 'below'; ancestorKey: string };

export interface SessionReads {
  get(key: string): Promise<SessionRow | undefined>;
  getBySessionId(sessionId: string): Promise<SessionRow | undefined>;
  /** Rows of `scope` strictly after `cursor` that are not deleted, newest first, at most `limit`. One index search. */
  scan(query: {
    scope: SessionScope;
    archived: boolean;
    cursor: SessionCursor | undefined;
    limit: number;
  }): Promise<SessionRow[]>;
  /** Sessions with exactly this label that are not archived, at most `limit`. */
  findByLabel(query: { label: string; agentId?: string; limit: number }): Promise<SessionRow[]>;
  /** Sessions that are not deleted and whose last route is this chat, at most `limit`; none for webchat. */
  findByChat(query: SessionChat & { limit: number }): Promise<SessionRow[]>;
  isDescendant(ancestorKey: string, key: string): Promise<boolean>;
  /** Descendants at any depth whose lane holds or awaits a run. */
  busyBelow(ancestorKey: string): Promise<string[]>;
  /** Direct children whose first run has not ended. */
  countActiveChildren(key: string): Promise<number>;
  /** Sessions that are not archived. */
  count(): Promise<number>;
  /** Sessions with a time to be archived, in the order of their keys, after this one. */
  clocks(afterKey: string, limit: number): Promise<{ key: string; archiveAt: number }[]>;
  /** Sessions archived at `at` or before and not deleted, the oldest first. */
  archivedBefore(page: DuePage): Promise<SessionRow[]>;
  hasDescendants(key: string): Promise<boolean>;
}

export interface SessionWrites extends SessionReads {
  /** Adds the session, its window and its rows in the closure of lineage. Fails when the key exists. */
  insert(row: SessionRow): Promise<void>;
  /** Changes the named columns; lineage cannot be changed. */
  update(
    key: string,
    patch: Partial<Omit<SessionRow, 'key' | 'spawnedBy' | 'rootKey' | 'spawnDepth'>>,
  ): Promise<void>;
}

/** What is due at `at`, strictly after a row, which is named by its own time and its id. */
export interface DuePage {
  at: number;
  after?: DueCursor | undefined;
  limit: number;
}

export interface DueCursor {
  at: number;
  id: string;
}

/** A page position in newest-first order. */
export interface WindowCursor {
  startedAt: number;
  sessionId: string;
}

export interface WindowReads {
  get(sessionId: string): Promise<WindowRow | undefined>;
  /** Every window that a key has had strictly before `cursor`, newest first. */
  ofKey(query: {
    sessionKey: string;
    cursor: WindowCursor | undefined;
    limit: number;
  }): Promise<WindowRow[]>;
  /** Windows that are not deleted and ended at `at` or before, the oldest first. */
  endedBefore(page: DuePage): Promise<WindowRow[]>;
  /** Windows deleted at `at` or before that are not being purged, the oldest first. */
  deletedBefore(page: DuePage): Promise<WindowRow[]>;
  /** Windows that are being purged, the oldest first. */
  condemned(page: Omit<DuePage, 'at'>): Promise<WindowRow[]>;
}

export interface WindowWrites extends WindowReads {
  /** Ends the open window of a key and marks all of them as deleted that are not yet. */
  markDeleted(sessionKey: string, at: number): Promise<void>;
  /** Hides the window from everybody: its rows go from now on. */
  condemn(sessionId: string, at: number): Promise<void>;
}
