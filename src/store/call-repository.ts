/** The rows of deferred calls: tool calls from outside whose answer is fetched later, and what reads and writes them. */

/** A call that waits for runs. It holds no content: its answer is read from the runs. */
export interface DeferredCallRow {
  callId: string;
  /** session that called, and that alone may see it */
  sessionKey: string;
  tool: string;
  /** `string[]` as JSON: the runs that it waits for */
  runIdsJson: string;
  mode: 'any' | 'all';
  createdAt: number;
  /** its wait is over then, whatever has come */
  deadlineAt: number;
  /** it is there for nobody from then on */
  expiresAt: number;
  /** null = it was not cancelled */
  cancelledAt: number | null;
}

/** A page position in newest-first order. */
export interface CallCursor {
  createdAt: number;
  callId: string;
}

export interface CallReads {
  get(callId: string): Promise<DeferredCallRow | undefined>;
  /** Those of a session that expire later, strictly after the cursor, newest first. */
  pageOf(query: {
    sessionKey: string;
    cursor: CallCursor | undefined;
    limit: number;
    now: number;
  }): Promise<DeferredCallRow[]>;
  /** Whether a session has this many that expire later. */
  hasAtLeast(query: { sessionKey: string; count: number; now: number }): Promise<boolean>;
}

export interface CallWrites extends CallReads {
  insert(row: DeferredCallRow): Promise<void>;
  cancel(callId: string, at: number): Promise<void>;
  remove(callId: string): Promise<void>;
  /** The ids of some that have expired, the oldest first. */
  expired(now: number, limit: number): Promise<string[]>;
}
