/** What is told of runs, and what may be asked of them. */
import type { RunClass, RunOutcome, RunState } from '../../protocol/words.ts';

/** One answer to "how did that run end?", the same words for `agent.wait` and the tools (A9, A12). */
export interface RunWaitAnswer {
  runId: string;
  sessionKey: string;
  /** `timeout` = the wait elapsed or the run timed out; `outcome` is there only for an ended run */
  status: 'ok' | 'error' | 'timeout';
  messageState: 'queued' | 'running' | 'waiting' | 'done';
  outcome?: RunOutcome;
  /** the run whose turn took the message in, and whose outcome this is */
  mergedInto?: string;
  reply?: string;
  error?: string;
  startedAt?: number;
  endedAt?: number;
}

/** A run as `runs.get` and `runs.list` show it, in the words of `agent.wait`. */
export interface RunView {
  runId: string;
  sessionKey: string;
  messageState: 'queued' | 'running' | 'waiting' | 'done';
  /** only when it has ended */
  outcome?: RunOutcome;
  reply?: string;
  error?: string;
  purpose: string;
  runClass: RunClass;
  acceptedAt: number;
  startedAt?: number;
  endedAt?: number;
  /** when its time limit stops it */
  deadlineAt?: number;
  rootRunId: string;
  hops: number;
  parentRunId?: string;
  model?: string;
  /** `operator` or the key of a session */
  stoppedBy?: string;
  mergedInto?: string;
}

export interface RunsQuery {
  sessionKey?: string;
  state?: RunState;
  limit?: number;
  cursor?: string;
}

export interface RunsPage {
  runs: RunView[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
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
  method: 'runs.stop' | 'chat.abort';
}
