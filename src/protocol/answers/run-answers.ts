/** What is told of runs. */
import type { RunClass, RunOutcome } from '../words.ts';

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

export interface RunsPage {
  runs: RunView[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}

/** How `chat.send` answers; a repeat says where that run is. */
export type ChatSent = { runId: string; sessionKey: string } & (
  | { status: 'started' }
  | { status: 'in_flight'; mergedInto?: string }
  | { status: 'ok'; outcome: RunOutcome; mergedInto?: string }
);

/** The first answer of `agent`: the message is committed. */
export interface AgentAccepted {
  runId: string;
  sessionKey: string;
  status: 'accepted';
  acceptedAt: number;
}

/** The last answer of `agent`: how the run ended. */
export interface AgentFinal extends Omit<RunWaitAnswer, 'reply' | 'messageState'> {
  summary: string;
  result: { payloads: { text: string }[] };
}

export interface RunsStopped {
  status: 'ok';
  /** keys of the sessions in which a run was stopped */
  stopped: string[];
  runIds: string[];
}

/** `sessions.abort` */
export interface SessionAborted {
  status: 'aborted' | 'no-active-run';
  /** the first of them, as older clients look for one */
  abortedRunId: string | null;
  runIds: string[];
}
