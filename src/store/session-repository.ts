/** The rows of sessions and of the windows of their keys, and what reads and writes them. */
import type {
  ChatType,
  QueueDrop,
  QueueMode,
  SendPolicyAction,
  SessionKind,
  ThinkingLevel,
} from '../protocol/words.ts';

/** The address of a chat, as the last route of a session names it. */
export interface SessionChat {
  channel: string;
  to: string;
  accountId: string | null;
  threadId: string | null;
}

/** One session key and what is known about it. */
export interface SessionRow {
  /** canonical key */
  key: string;
  agentId: string;
  kind: SessionKind;
  /** the window the key points at now */
  sessionId: string;
  chatType: ChatType | null;
  /** channel recorded at creation (groups), else null */
  channel: string | null;
  label: string | null;
  displayName: string | null;
  /** model override `provider/id`, null = the agent's */
  model: string | null;
  thinkingLevel: ThinkingLevel | null;
  verboseLevel: string | null;
  reasoningLevel: string | null;
  elevatedLevel: string | null;
  /** `provider/id` of the last model call */
  lastModel: string | null;
  inputTokens: number;
  outputTokens: number;
  /** context size after the last model call, null = unknown */
  totalTokens: number | null;
  systemSent: boolean;
  abortedLastRun: boolean;
  sendPolicy: SendPolicyAction | null;
  /** override of `messages.queue.mode`, null = by configuration */
  queueMode: QueueMode | null;
  /** override of `messages.queue.debounceMs` */
  queueDebounceMs: number | null;
  /** override of `messages.queue.cap` */
  queueCap: number | null;
  /** override of `messages.queue.drop` */
  queueDrop: QueueDrop | null;
  lastChannel: string | null;
  lastTo: string | null;
  lastAccountId: string | null;
  lastThreadId: string | null;
  /** the session that spawned this one; write-once */
  spawnedBy: string | null;
  /** the topmost ancestor, itself when not spawned; write-once */
  rootKey: string;
  spawnDepth: number;
  createdAt: number;
  updatedAt: number;
  /** when it is archived, null = no clock runs */
  archiveAt: number | null;
  archivedAt: number | null;
  /** hidden from every tool since then; what is deleted is archived too */
  deletedAt: number | null;
}

/** One transcript: every sessionId a key has had. */
export interface WindowRow {
  sessionId: string;
  sessionKey: string;
  startedAt: number;
  endedAt: number | null;
  /** seq of the next entry, from 1 */
  nextSeq: number;
  lastEntryId: string | null;
  /** children that the session spawned while this was its transcript, whatever became of them */
  childrenSpawned: number;
  /** hidden from every tool since then; the operator reads it until it is purged */
  deletedAt: number | null;
  /** hidden from everybody since then, its rows go step by step */
  purgeAt: number | null;
}

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
  /** Keys of the descendants of `ancestorKey` with exactly this label that are not archived, at most `limit`. */
  labelledBelow(query: { label: string; ancestorKey: string; limit: number }): Promise<string[]>;
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
  /**
   * The first window of a key strictly after `cursor` that has entries and is not being purged; the
   * first of all without a cursor. Windows of a key start one after another, never at one time.
   */
  following(query: {
    sessionKey: string;
    cursor: WindowCursor | undefined;
  }): Promise<WindowRow | undefined>;
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
  /** Counts one more child that was spawned from the window. */
  countChild(sessionId: string): Promise<void>;
}
