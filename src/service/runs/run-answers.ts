/** What is told of runs, and what may be asked of them. */
import type { RunState } from '../../protocol/words.ts';

export interface RunsQuery {
  sessionKey?: string;
  state?: RunState;
  limit?: number;
  cursor?: string;
}

/** What the operator waits for: the named runs, and the newest run of each named session. */
export interface WaitForRuns {
  runIds?: string[];
  sessionKeys?: string[];
  mode: 'any' | 'all';
  timeoutMs: number;
  signal?: AbortSignal;
}

/** One of the two: a session's run, or a run; with both the run must be one of that session. */
export interface StopByOperator {
  sessionKey?: string | undefined;
  runId?: string | undefined;
  /** also what waits in the session's lane */
  queued?: boolean;
  /** how it was asked for, as the audit log tells it */
  method: 'runs.stop' | 'chat.abort' | 'sessions.abort';
}
