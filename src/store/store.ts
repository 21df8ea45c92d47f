/**
 * The store: what every durable step is written through.
 *
 * Reads see only what is committed. A write is a *unit of work*: it is named, runs in one
 * transaction, has no side effects and awaits nothing but its `tx`, because it may run again
 * (group replay, deadlock, serialisation error). Signals of a unit are sent after its commit.
 */
import type {
  AuditRow,
  DeliveryRow,
  DeviceRow,
  EntryRow,
  ExchangeRow,
  InputKind,
  InputRow,
  JobRow,
  LaneRow,
  ModelCallRow,
  PairingRow,
  RunRow,
  SessionRow,
  SpawnRow,
  ToolCallRow,
  UsageDayRow,
  WaitRow,
  WindowRow,
} from './rows.ts';
import type { JobHandler, JobRunner } from './jobs.ts';
import type { SearchUnit } from '../core/search-query.ts';
import type { RunClass, RunState, SessionState } from '../protocol/words.ts';
import type { Clock } from '../util/clock.ts';

/** What changed, told after the commit; carries ids only. */
export type StoreSignal =
  | { type: 'lane'; sessionKey: string }
  | { type: 'run'; runId: string }
  /** the run has to end: whoever plays it aborts it */
  | { type: 'stop'; runId: string }
  | { type: 'job' }
  | { type: 'session'; sessionKey: string }
  /** a part of the outbox was handed over */
  | { type: 'delivery'; deliveryId: string }
  /** a device was approved, changed or revoked */
  | { type: 'device'; deviceId: string }
  /** a request to be let in was made, or is open no longer */
  | {
      type: 'pairing';
      pairingId: string;
      /** absent = it was made */
      deviceId?: string;
      decision?: 'approved' | 'rejected';
    }
  /** signals of another gateway may have been missed: look at the rows again */
  | { type: 'resync' };

export interface Store {
  /**
   * Runs `fn` on a snapshot of what is committed. With `slow` it may take long: it runs beside all
   * other reads, holds up nobody, and rejects `invalid_request` with the text of the limit beyond it.
   */
  read<T>(fn: (tx: ReadTx) => Promise<T>, slow?: SlowReadLimit): Promise<T>;
  /**
   * Runs one unit of work and resolves with its value after the commit.
   * Contract: `fn` must be repeatable; a rejection rolls the unit back and nothing of it stays.
   */
  write<T>(unit: string, fn: (tx: WriteTx) => Promise<T>): Promise<T>;
  /** Calls `listener` after each commit that signalled; returns the function that stops it. */
  onSignal(listener: (signal: StoreSignal) => void): () => void;
  /** Finishes queued units, then closes. Later calls are rejected `unavailable`. */
  close(): Promise<void>;
  /** what a store offers that several gateways use at once; undefined where there is one gateway */
  readonly shared?: SharedStore | undefined;
}

/** How long a slow read may take, from the call on, and what to say when that is over. */
export interface SlowReadLimit {
  timeoutMs: number;
  tooSlow: string;
}

/** This gateway among those on the same store. */
export interface SharedStore {
  /** follows the clock of the store, which all due times and deadlines are written by */
  readonly clock: Clock;
  /**
   * Returns false when the others may have declared this gateway dead, and its lanes are theirs. A
   * run asks before each external effect.
   */
  holdsLease(): boolean;
  /** Calls `listener` after commits of other gateways that signalled; `onSignal` hears of these as well. */
  onRemoteSignal(listener: (signal: StoreSignal) => void): () => void;
  /** Runs the jobs of this store on a worker that all its gateways share. */
  createJobRunner(handlers: Readonly<Record<string, JobHandler>>): JobRunner;
  /**
   * Calls `giveUp` when the lanes of this gateway were lost. It ends the runs of this process without
   * an outcome; the gateway joins again when it has resolved.
   */
  onLost(giveUp: () => Promise<void>): () => void;
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
  /** Sessions whose last route leads to this address of a channel, at most `limit`; none for webchat. */
  findByChat(query: { channel: string; to: string; limit: number }): Promise<SessionRow[]>;
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
  archivedBefore(at: number, limit: number): Promise<SessionRow[]>;
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

export interface EntryReads {
  /** The newest `limit` messages before `beforeSeq`, in append order. Filter first, then limit (BR-133). */
  tail(query: {
    sessionId: string;
    includeTools: boolean;
    beforeSeq: number | undefined;
    limit: number;
  }): Promise<EntryRow[]>;
  /** Place and size in bytes of what `tail` would return, newest first; their content is not read. */
  tailSizes(query: {
    sessionId: string;
    includeTools: boolean;
    beforeSeq: number | undefined;
    limit: number;
  }): Promise<{ seq: number; bytes: number }[]>;
  /** Entries of every type after `afterSeq`, in order, at most `limit`. One index search. */
  page(query: { sessionId: string; afterSeq: number; limit: number }): Promise<EntryRow[]>;
  /** All entries of a window in order, from the newest `compaction` on when there is one. */
  context(sessionId: string): Promise<EntryRow[]>;
  /** Entries that this run appended, in order. */
  ofRun(sessionId: string, runId: string): Promise<EntryRow[]>;
}
export interface EntryWrites extends EntryReads {
  /** Appends one entry and returns its seq. U+0000 and lone surrogates are replaced by U+FFFD. */
  append(entry: {
    sessionId: string;
    entryId: string;
    type: string;
    role: EntryRow['role'];
    runId: string | null;
    json: string;
    createdAt: number;
  }): Promise<number>;
}

/** A page position in newest-first order. */
export interface WindowCursor {
  startedAt: number;
  sessionId: string;
}
/** A message that a search has found; its content is not read yet. */
export interface SearchHit {
  /** place in the order of the search: grows with time */
  searchId: number;
  sessionId: string;
  seq: number;
  /** null: a transcript of no session */
  sessionKey: string | null;
  /** when its transcript was deleted, null = it was not */
  deletedAt: number | null;
  /** size of the stored message, null: it is not there */
  bytes: number | null;
}
export interface SearchReads {
  /**
   * Messages of these scopes and single sessions that have all units, the newest first, strictly
   * before `before`. One index search.
   */
  find(query: SearchQuery): Promise<SearchHit[]>;
}
/** Which messages a search walks, each kind as the index itself has it. */
export type SearchScope =
  | { type: 'everything' }
  | { type: 'agent'; agentId: string }
  /** every session with this topmost session */
  | { type: 'root'; rootKey: string };
export interface SearchQuery {
  units: readonly SearchUnit[];
  scopes: readonly SearchScope[];
  keys: readonly string[];
  before: number | undefined;
  limit: number;
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
  endedBefore(at: number, limit: number): Promise<WindowRow[]>;
  /** Windows deleted at `at` or before that are not being purged, the oldest first. */
  deletedBefore(at: number, limit: number): Promise<WindowRow[]>;
  /** Windows that are being purged, the oldest first. */
  condemned(limit: number): Promise<WindowRow[]>;
}
export interface WindowWrites extends WindowReads {
  /** Ends the open window of a key and marks all of them as deleted that are not yet. */
  markDeleted(sessionKey: string, at: number): Promise<void>;
  /** Hides the window from everybody: its rows go from now on. */
  condemn(sessionId: string, at: number): Promise<void>;
}

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
  /** Removes a run with its message, its waits and the exchange that it began. */
  run(runId: string): Promise<void>;
  /** Takes the texts out of a run and its message: what is left says how it ended, under its key. */
  spendRun(runId: string, error: string | null): Promise<void>;
  /** Removes notes that are in a transcript, texts alone where a key is kept; returns how many. */
  notes(range: PurgeRange, limit: number): Promise<number>;
  /** The same for texts that need nobody any more. */
  deliveries(range: PurgeRange, limit: number): Promise<number>;
  window(sessionId: string): Promise<void>;
  /** Removes the row of a session that has nothing left, with lane and lineage. */
  session(key: string): Promise<void>;
}

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

export interface LaneReads {
  get(sessionKey: string): Promise<LaneRow | undefined>;
  /** State of each named lane; a missing lane is idle. */
  states(sessionKeys: readonly string[]): Promise<Map<string, SessionState>>;
  /** When the next lane of the class comes ready that is not ready at `now`. */
  nextReadyAt(runClass: RunClass, now: number): Promise<number | undefined>;
}
export interface LaneWrites extends LaneReads {
  /** Takes the next seq of the lane, making the lane when it is new. */
  nextSeq(sessionKey: string): Promise<number>;
  /**
   * Counts one more unfinished run of `runClass`; a free lane that is empty, or waits for quiet, becomes
   * ready at `readyAt`. Call it after the insertion of the run, which may stand ahead of others.
   */
  addRun(sessionKey: string, runClass: RunClass, readyAt: number): Promise<void>;
  /**
   * Claims the ready lane of `runClass` whose turn it is: lanes that hold an interrupted run first, then
   * the root that was served longest ago, then the lane that has waited longest. Sets the owner and
   * raises the epoch. `undefined` when none is ready.
   */
  claimNext(query: { runClass: RunClass; owner: string }): Promise<LaneRow | undefined>;
  /** Returns the lane, whoever owns it, and keeps others from changing it until the unit ends. */
  hold(sessionKey: string): Promise<LaneRow | undefined>;
  /** Returns the lane when it is still at this owner and epoch; throws `fenced` when it is not. */
  lock(fence: LaneFence): Promise<LaneRow>;
  setCurrent(fence: LaneFence, currentRunId: string, state: SessionState): Promise<void>;
  setState(fence: LaneFence, state: SessionState): Promise<void>;
  /** Ends the current run: one unfinished run less, owner cleared, the next queued run's class at the head. */
  release(fence: LaneFence, readyAt: number): Promise<void>;
  /** One unfinished run less in a lane that is not claimed (a queued run ended without running). */
  removeQueued(sessionKey: string): Promise<void>;
  /** Frees every lane whose owner is neither `owner` nor a gateway that is alive; returns how many. */
  freeOrphans(owner: string): Promise<number>;
}
/** The right to write to a lane. */
export interface LaneFence {
  sessionKey: string;
  owner: string;
  epoch: number;
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

/** A page position in newest-first order. */
export interface DeliveryCursor {
  createdAt: number;
  deliveryId: string;
}
export interface DeliveryReads {
  get(deliveryId: string): Promise<DeliveryRow | undefined>;
  /** Deliveries in this state, oldest first. */
  byState(state: DeliveryRow['state'], limit: number): Promise<DeliveryRow[]>;
  ofSession(sessionKey: string, limit: number): Promise<DeliveryRow[]>;
  /** Whether parts for the chat of this session are queued or under way. */
  hasOpen(sessionKey: string): Promise<boolean>;
  /** The parts of a text, in order. */
  ofText(textKey: string): Promise<DeliveryRow[]>;
  /** The oldest part of a route that is queued or under way: the one to go next. */
  headOfRoute(routeKey: string): Promise<DeliveryRow | undefined>;
  /** True while the gateway of this boot id is among those of the store; where there is one gateway, no other is. */
  senderLives(sender: string): Promise<boolean>;
  /** The newest part of a route, in whatever state. */
  lastOfRoute(routeKey: string): Promise<DeliveryRow | undefined>;
  /** Deliveries in one state strictly after `cursor`, newest first; `retrying` = queued and tried before. */
  pageOfState(query: {
    state: DeliveryRow['state'] | 'retrying';
    cursor: DeliveryCursor | undefined;
    limit: number;
  }): Promise<DeliveryRow[]>;
  /** The same of one session, in whatever state. */
  pageOfSession(query: {
    sessionKey: string;
    cursor: DeliveryCursor | undefined;
    limit: number;
  }): Promise<DeliveryRow[]>;
  /** Parts with a place in a route strictly before `beforeSeq`, the newest first. */
  pageOfRoute(query: {
    routeKey: string;
    beforeSeq: number | undefined;
    limit: number;
  }): Promise<DeliveryRow[]>;
}
export interface DeliveryWrites extends DeliveryReads {
  /** Adds the row; returns false and changes nothing when its idempotency key is already there. */
  insert(row: DeliveryRow): Promise<boolean>;
  update(
    deliveryId: string,
    patch: Partial<
      Pick<
        DeliveryRow,
        | 'state'
        | 'reason'
        | 'attempts'
        | 'handovers'
        | 'sender'
        | 'sendingAt'
        | 'unclearSince'
        | 'nextAttemptAt'
        | 'messageId'
        | 'sentAt'
        | 'updatedAt'
      >
    >,
  ): Promise<void>;
}

export interface AuditReads {
  /** Lines strictly after `cursor`, newest first, of one session, of one subject, or all. */
  page(query: {
    of?: { sessionKey: string } | { subjectKind: string; subjectId: string };
    cursor: AuditCursor | undefined;
    limit: number;
  }): Promise<AuditRow[]>;
}
/** A page position in newest-first order. */
export interface AuditCursor {
  at: number;
  id: string;
}
export interface AuditWrites extends AuditReads {
  /** Call it in the unit of the change that it tells of. */
  insert(row: AuditRow): Promise<void>;
}

export interface DeviceReads {
  get(id: string): Promise<DeviceRow | undefined>;
  /** Devices strictly after `cursor`, approved last first, revoked ones too. */
  page(query: { cursor: DeviceCursor | undefined; limit: number }): Promise<DeviceRow[]>;
  /** How many rows there are, counted up to `atMost`. */
  count(atMost: number): Promise<number>;
  /** The device whose revocation is longest ago. */
  oldestRevoked(): Promise<DeviceRow | undefined>;
}
/** A page position, approved last first. */
export interface DeviceCursor {
  approvedAt: number;
  id: string;
}
export interface DeviceWrites extends DeviceReads {
  insert(row: DeviceRow): Promise<void>;
  /** Rejects `not_found` when there is no such device. */
  update(id: string, patch: Partial<Omit<DeviceRow, 'id'>>): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface PairingReads {
  get(id: string): Promise<PairingRow | undefined>;
  ofDevice(deviceId: string): Promise<PairingRow | undefined>;
  /** Requests that are open at `now`, those that end first first, at most `limit`. */
  open(now: number, limit: number): Promise<PairingRow[]>;
}
export interface PairingWrites extends PairingReads {
  insert(row: PairingRow): Promise<void>;
  update(id: string, patch: Partial<Omit<PairingRow, 'id' | 'deviceId'>>): Promise<void>;
  remove(id: string): Promise<void>;
  /** Removes what is no longer open at `now`. */
  removeExpired(now: number): Promise<void>;
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

export interface ReadTx {
  readonly sessions: SessionReads;
  readonly windows: WindowReads;
  readonly entries: EntryReads;
  readonly search: SearchReads;
  readonly inputs: InputReads;
  readonly runs: RunReads;
  readonly lanes: LaneReads;
  readonly toolCalls: ToolCallReads;
  readonly usage: UsageReads;
  readonly waits: WaitReads;
  readonly exchanges: ExchangeReads;
  readonly spawns: SpawnReads;
  readonly deliveries: DeliveryReads;
  readonly audit: AuditReads;
  readonly devices: DeviceReads;
  readonly pairings: PairingReads;
  readonly jobs: JobReads;
}
export interface WriteTx {
  /** Epoch milliseconds, from the store's clock; the same value all through the unit. */
  readonly now: number;
  readonly sessions: SessionWrites;
  readonly windows: WindowWrites;
  readonly entries: EntryWrites;
  readonly search: SearchReads;
  readonly inputs: InputWrites;
  readonly runs: RunWrites;
  readonly lanes: LaneWrites;
  readonly toolCalls: ToolCallWrites;
  readonly usage: UsageWrites;
  readonly waits: WaitWrites;
  readonly exchanges: ExchangeWrites;
  readonly spawns: SpawnWrites;
  readonly deliveries: DeliveryWrites;
  readonly audit: AuditWrites;
  readonly devices: DeviceWrites;
  readonly pairings: PairingWrites;
  readonly jobs: JobWrites;
  readonly purge: PurgeWrites;
  /** Tells listeners after the commit. */
  signal(signal: StoreSignal): void;
}
