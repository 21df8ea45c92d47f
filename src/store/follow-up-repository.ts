/** The rows of what follows from runs: exchanges, spawns and jobs, and what reads and writes them. */
import type {
  AnnounceMode,
  ExchangeEndReason,
  ExchangeState,
  NoAnnounceReason,
} from '../protocol/words.ts';

/** An agent-to-agent loop after a `sessions_send` (A10). */
export interface ExchangeRow {
  /** is the runId of the primary run */
  exchangeId: string;
  requesterKey: string;
  targetKey: string;
  /** the run that sent; round 2 waits for its end */
  requesterRunId: string;
  rootRunId: string;
  hops: number;
  state: ExchangeState;
  maxTurns: number;
  /** reply-back turns done */
  turns: number;
  requestText: string;
  firstReply: string | null;
  latestReply: string | null;
  endReason: ExchangeEndReason | null;
  /** what went wrong, for `error` */
  endDetail: string | null;
  /** why there is no announce turn, null = there is one, or it is not decided yet */
  noAnnounce: NoAnnounceReason | null;
  createdAt: number;
  endedAt: number | null;
}

/** A child session and what its requester is owed (A16, A18). */
export interface SpawnRow {
  childKey: string;
  /** the child's first run */
  runId: string;
  requesterKey: string;
  requesterRunId: string | null;
  task: string;
  label: string | null;
  cleanup: 'keep' | 'delete';
  announceMode: AnnounceMode;
  archiveAfterMinutes: number;
  /** `Route` as JSON captured at spawn, null = none */
  routeJson: string | null;
  /** `attachAs` as JSON, null = not given; it has no effect */
  attachAsJson: string | null;
  state: 'running' | 'announcing' | 'settled';
  createdAt: number;
  settledAt: number | null;
}

/** Due work: short, idempotent, fenced by domain rows; never runs a turn. */
export interface JobRow {
  jobId: number;
  /** unique among open jobs; a second add with the same key replaces runAt and payload */
  jobKey: string;
  kind: string;
  payloadJson: string;
  runAt: number;
  attempts: number;
  lastError: string | null;
}

/** A page position in newest-first order. */
export interface ExchangeCursor {
  createdAt: number;
  exchangeId: string;
}

export interface ExchangeReads {
  get(exchangeId: string): Promise<ExchangeRow | undefined>;
  /** Exchanges in state `due` that wait for the end of this run. */
  dueAfterRun(requesterRunId: string): Promise<ExchangeRow[]>;
  /** Exchanges of the pair (either direction) that have not ended. */
  openOfPair(a: string, b: string): Promise<ExchangeRow[]>;
  /** Exchanges of a session, on either side, that have not ended. */
  openOf(sessionKey: string): Promise<ExchangeRow[]>;
  /** Exchanges of a session, on either side, strictly after `cursor`, newest first. */
  pageOf(query: {
    sessionKey: string;
    cursor: ExchangeCursor | undefined;
    limit: number;
  }): Promise<ExchangeRow[]>;
}

export interface ExchangeWrites extends ExchangeReads {
  insert(row: ExchangeRow): Promise<void>;
  update(exchangeId: string, patch: Partial<Omit<ExchangeRow, 'exchangeId'>>): Promise<void>;
}

export interface SpawnReads {
  get(childKey: string): Promise<SpawnRow | undefined>;
  /** Children of `requesterKey` that are not settled. */
  unsettledOf(requesterKey: string): Promise<SpawnRow[]>;
  /** Whether there is one; its task is not read. */
  hasUnsettled(requesterKey: string): Promise<boolean>;
}

export interface SpawnWrites extends SpawnReads {
  insert(row: SpawnRow): Promise<void>;
  update(childKey: string, patch: Partial<Omit<SpawnRow, 'childKey'>>): Promise<void>;
}

export interface JobReads {
  /** Jobs due at `now`, oldest first, at most `limit`. */
  due(now: number, limit: number): Promise<JobRow[]>;
  /** When the next job is due, `undefined` when there is none. */
  nextRunAt(): Promise<number | undefined>;
}

export interface JobWrites extends JobReads {
  /** Adds a job, or moves the open one with the same key. */
  add(job: Pick<JobRow, 'jobKey' | 'kind' | 'payloadJson' | 'runAt'>): Promise<void>;
  /** Ends the job; a missing one is no error. Call it in the unit that has the job's effect. */
  remove(jobKey: string): Promise<void>;
  /** Books a failed attempt and when to try again. */
  retry(jobKey: string, failure: { error: string; runAt: number }): Promise<void>;
}
