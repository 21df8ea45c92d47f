/** The rows of runs, of their tool calls and waits, and what reads and writes them. */
import type { QueueMode, RunClass, RunState } from '../protocol/words.ts';

export type RunPurpose =
  | 'message'
  | 'exchange_turn'
  | 'exchange_announce'
  | 'task'
  | 'spawn_announce'
  /** the requester passes a child's result on */
  | 'spawn_relay'
  /** an owner's text command: done at its acceptance, without a turn */
  | 'command';

/** One agent turn and its outcome. */
export interface RunRow {
  /** the id of its first input */
  runId: string;
  sessionKey: string;
  /** window it writes to, null until claimed */
  sessionId: string | null;
  /** order in the lane; below 0: ahead of all that waits, the newest first (an interrupt) */
  seq: number;
  state: RunState;
  runClass: RunClass;
  purpose: RunPurpose;
  exchangeId: string | null;
  /** child key of the spawn this run belongs to */
  spawnKey: string | null;
  rootRunId: string;
  hops: number;
  /** the run whose tool call or outcome caused this one */
  parentRunId: string | null;
  /** the reply goes to a chat */
  deliver: boolean;
  /** `Route` as JSON where the reply goes, null = the session's last route */
  routeJson: string | null;
  /** `RunOptions` as JSON: overrides of this run alone */
  optionsJson: string | null;
  acceptedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** wall time limit from claim, 0 = none */
  timeoutMs: number;
  deadlineAt: number | null;
  /** interrupted attempts since the transcript last advanced */
  attempts: number;
  /** visible reply, null until ended */
  reply: string | null;
  error: string | null;
  model: string | null;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** US dollars, null = unpriced or unknown */
  costUsd: number | null;
  /** false when no model call reported usage */
  usageKnown: boolean;
  /** the run whose turn took this message in, and whose outcome it has (A12) */
  mergedInto: string | null;
  /** who stopped it: `operator` or a session key; set before it ends, and then it ends `aborted` */
  stoppedBy: string | null;
  /** names the call that stopped it (A13), null = the call had no key */
  stopKey: string | null;
  /** what this message may do to the turns around it, null = it has a turn of its own (B12) */
  queueMode: Exclude<QueueMode, 'queue'> | null;
  /** its texts are gone; it is kept for the key of its message, and in no list */
  purgedAt: number | null;
}

export interface ToolCallRow {
  runId: string;
  /** position of the assistant message among the run's assistant messages, from 0 */
  position: number;
  /** index of the call in that message, from 0 */
  callIndex: number;
  callId: string;
  name: string;
  /** the arguments as the transcript has them */
  argsJson: string;
  /** the arguments with what no transcript may keep, until the call is done; null = `argsJson` is all of them */
  heldJson: string | null;
  state: 'planned' | 'started' | 'finished';
  /** `ToolResultMessage` as JSON once finished */
  resultJson: string | null;
  startedAt: number | null;
  finishedAt: number | null;
}

/** A run that waits for another run; a call that waits for several has one row for each. */
export interface WaitRow {
  /** stable name of the waiting call: `<runId>:<position>:<callIndex>`, then `:<n>` from its second target on */
  waitId: string;
  waiterRunId: string;
  waiterKey: string;
  targetRunId: string;
  targetKey: string;
  deadlineAt: number;
  state: 'open' | 'done' | 'timeout' | 'interrupted';
  /** the person's message that ended it */
  interruptedBy: string | null;
  createdAt: number;
  endedAt: number | null;
}

/** A page position in newest-first order. */
export interface RunCursor {
  acceptedAt: number;
  runId: string;
}

export interface RunReads {
  get(runId: string): Promise<RunRow | undefined>;
  /** The oldest queued run of a lane. */
  nextQueued(sessionKey: string): Promise<RunRow | undefined>;
  /** Every queued run of a lane, oldest first. */
  queuedOf(sessionKey: string): Promise<RunRow[]>;
  /** The run accepted last that does a session's work: no announce turn, no command. */
  latestOf(sessionKey: string): Promise<RunRow | undefined>;
  /** Runs that a tool call of this run started, ended ones too. */
  causedBy(runId: string): Promise<RunRow[]>;
  /** Runs that were stopped by this call. */
  stoppedUnder(stopKey: string): Promise<RunRow[]>;
  /** Runs of one session strictly after this one, newest first. */
  pageOfSession(query: {
    sessionKey: string;
    after: Pick<RunRow, 'acceptedAt' | 'seq'> | undefined;
    limit: number;
  }): Promise<RunRow[]>;
  /** Runs in one state strictly after `cursor`, newest first. */
  pageOfState(query: {
    state: RunState;
    cursor: RunCursor | undefined;
    limit: number;
  }): Promise<RunRow[]>;
  /** The first queued runs of a lane, in the order of their turns. */
  queued(sessionKey: string, limit: number): Promise<RunRow[]>;
  /** Runs whose messages joined the turn of this one. */
  mergedInto(runId: string): Promise<RunRow[]>;
  countByState(): Promise<Record<string, number>>;
}

export interface RunWrites extends RunReads {
  insert(row: RunRow): Promise<void>;
  update(
    runId: string,
    patch: Partial<Omit<RunRow, 'runId' | 'sessionKey' | 'seq'>>,
  ): Promise<void>;
}

export interface ToolCallReads {
  ofRun(runId: string): Promise<ToolCallRow[]>;
}

export interface ToolCallWrites extends ToolCallReads {
  plan(row: Omit<ToolCallRow, 'state' | 'resultJson' | 'startedAt' | 'finishedAt'>): Promise<void>;
  start(call: ToolCallId, at: number): Promise<void>;
  /** Books the result; what was held for the call is forgotten. */
  finish(call: ToolCallId, resultJson: string, at: number): Promise<void>;
  /** Forgets what is held for calls of a run that nobody will do any more. */
  dropHeld(runId: string): Promise<void>;
}

/** Names a call across attempts (A13). */
export interface ToolCallId {
  runId: string;
  position: number;
  callIndex: number;
}

export interface WaitReads {
  get(waitId: string): Promise<WaitRow | undefined>;
  /** The open waits of the run that holds this lane. */
  openOfLane(waiterKey: string): Promise<WaitRow[]>;
}

export interface WaitWrites extends WaitReads {
  insert(row: WaitRow): Promise<void>;
  end(waitId: string, state: Exclude<WaitRow['state'], 'open'>, at: number): Promise<void>;
  /** Ends the open waits of a lane because this message came into it. */
  interruptLane(waiterKey: string, byRunId: string, at: number): Promise<void>;
  /** Ends every open wait of a run that has ended. */
  endOfRun(waiterRunId: string, at: number): Promise<void>;
}
