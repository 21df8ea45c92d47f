/** What takes rows away for good, in small steps. */
import type { RunRow } from './run-repository.ts';

/** What a session has left up to a time; epoch ms. */
export interface PurgeRange {
  sessionKey: string;
  until: number;
}

export type PurgedRun = Pick<RunRow, 'runId' | 'parentRunId' | 'state'>;

/** Erases for good, a bounded number of rows a call. Nothing here asks whether it may. */
export interface PurgeWrites {
  /** Removes the oldest entries of a window; returns how many. */
  entries(sessionId: string, limit: number): Promise<number>;
  /**
   * Ended runs accepted until then that were not purged, the oldest first: those of a window and
   * those that never had one; without `sessionId` all of them.
   */
  runs(range: PurgeRange & { sessionId: string | undefined }, limit: number): Promise<PurgedRun[]>;
  /** Removes tool calls of a run, those of a few messages; returns how many. */
  toolCalls(runId: string): Promise<number>;
  /** Removes the first model calls of a run and counts them as purged in their sums; returns how many. */
  modelCalls(run: Pick<RunRow, 'runId' | 'sessionKey'>, limit: number): Promise<number>;
  /** Removes a run with its message, its waits and the exchange that it began. */
  run(runId: string): Promise<void>;
  /** Takes the texts out of a run and its message: what is left says how it ended, under its key. */
  spendRun(runId: string, error: string | null): Promise<void>;
  /**
   * Removes notes that joined a transcript until then, texts alone where a key is kept; returns how many.
   * With a `sessionId` not those that a run has taken into another one, at the same time perhaps.
   */
  notes(range: PurgeRange & { sessionId: string | undefined }, limit: number): Promise<number>;
  /** The same for texts that need nobody any more. */
  deliveries(range: PurgeRange, limit: number): Promise<number>;
  window(sessionId: string): Promise<void>;
  /** Removes the row of a session that has nothing left, with lane and lineage. */
  session(key: string): Promise<void>;
}
