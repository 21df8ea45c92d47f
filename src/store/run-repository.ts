/** Reading and writing accepted messages and runs, with their tool calls, waits and usage. */
import type { RunState } from '../protocol/words.ts';
import type {
  InputKind,
  InputRow,
  ModelCallRow,
  RunRow,
  ToolCallRow,
  UsageDayRow,
  WaitRow,
} from './rows.ts';

export interface InputReads {
  get(inputId: string): Promise<InputRow | undefined>;
  findByIdempotencyKey(scope: string, key: string): Promise<InputRow | undefined>;
  /** Inputs not yet in a transcript, in lane order. */
  pending(sessionKey: string, limit: number): Promise<InputRow[]>;
  /** The oldest of one kind that is not yet in a transcript. */
  firstPending(sessionKey: string, kind: InputKind): Promise<InputRow | undefined>;
  /** Routed messages under a root (kinds `inter_session`, `note` and `exchange`). */
  countUnderRoot(rootRunId: string): Promise<number>;
  /** Primary messages from one session to another under a root. */
  countEdge(rootRunId: string, sourceKey: string, targetKey: string): Promise<number>;
}

export interface InputWrites extends InputReads {
  insert(row: InputRow): Promise<void>;
  /** `runId`: whose turn took it in; null: it entered a transcript that no turn will take it into. */
  markAppended(inputId: string, runId: string | null, at: number): Promise<void>;
  /** Its run ended before it began: it never enters a transcript. */
  markDropped(inputId: string): Promise<void>;
  /** Changes the text of an input that is not in a transcript yet. */
  rewrite(inputId: string, text: string): Promise<void>;
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
  /** The run accepted last that does a session's work: no announce turn. */
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
  plan(
    row: Pick<ToolCallRow, 'runId' | 'position' | 'callIndex' | 'callId' | 'name' | 'argsJson'>,
  ): Promise<void>;
  start(call: ToolCallId, at: number): Promise<void>;
  finish(call: ToolCallId, resultJson: string, at: number): Promise<void>;
}

/** Names a call across attempts (A13). */
export interface ToolCallId {
  runId: string;
  position: number;
  callIndex: number;
}

/** Whose usage a walk sees, and in which order. */
export type UsageScope =
  /** by day, then by session */
  | { type: 'everything'; order: 'day' }
  /** by session, then by day */
  | { type: 'everything'; order: 'session' }
  | { type: 'session'; sessionKey: string }
  /** the root and all that was spawned below it, by session, then by day */
  | { type: 'root'; rootKey: string };

/** A place in a walk: `model` '' comes before all models of a day, `sessionKey` '' before all sessions. */
export type UsagePlace = Pick<UsageDayRow, 'sessionKey' | 'day' | 'model'>;

export interface UsageReads {
  /** The model calls of a run, in order. */
  callsOf(runId: string): Promise<ModelCallRow[]>;
  /** Rows of the scope strictly after this place, in its order, at most `limit`. One index search. */
  page(query: { scope: UsageScope; after: UsagePlace; limit: number }): Promise<UsageDayRow[]>;
}

export interface UsageWrites extends UsageReads {
  /** Adds a call after those that its run has made, and adds it to the sums of its session and day. */
  book(
    call: Omit<ModelCallRow, 'position'>,
    of: Pick<UsageDayRow, 'sessionKey' | 'agentId' | 'rootKey'>,
  ): Promise<void>;
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
