/**
 * The store: what every durable step is written through.
 *
 * Reads see only what is committed. A write is a *unit of work*: it is named, runs in one
 * transaction, has no side effects and awaits nothing but its `tx`, because it may run again
 * (group replay, deadlock, serialisation error). Signals of a unit are sent after its commit.
 *
 * Each `*-repository.ts` has the rows of a few tables, one interface per table, beside what reads and
 * writes them. Times are epoch milliseconds; JSON columns are text, and named `...Json`.
 */
import type { Clock } from '../util/clock.ts';
import type { JobHandler, JobRunner } from './jobs.ts';
import type { AttachmentReads, AttachmentWrites } from './attachment-repository.ts';
import type { AuditReads, AuditWrites } from './audit-repository.ts';
import type { CallReads, CallWrites } from './call-repository.ts';
import type { PurgeWrites } from './purge-repository.ts';
import type {
  DeviceReads,
  DeviceWrites,
  PairingReads,
  PairingWrites,
} from './device-repository.ts';
import type { BudgetReads, BudgetWrites } from './budget-repository.ts';
import type { DeliveryReads, DeliveryWrites } from './delivery-repository.ts';
import type {
  ExchangeReads,
  ExchangeWrites,
  JobReads,
  JobWrites,
  SpawnReads,
  SpawnWrites,
} from './follow-up-repository.ts';
import type { LaneReads, LaneWrites } from './lane-repository.ts';
import type { InputReads, InputWrites } from './input-repository.ts';
import type {
  RunReads,
  RunWrites,
  ToolCallReads,
  ToolCallWrites,
  WaitReads,
  WaitWrites,
} from './run-repository.ts';
import type { UsageReads, UsageWrites } from './usage-repository.ts';
import type {
  SessionReads,
  SessionWrites,
  WindowReads,
  WindowWrites,
} from './session-repository.ts';
import type { EntryReads, EntryWrites, SearchReads } from './transcript-repository.ts';

/** What changed, told after the commit; carries ids only. */
export type StoreSignal =
  | { type: 'lane'; sessionKey: string }
  | { type: 'run'; runId: string }
  /** the run has to end: whoever plays it aborts it */
  | { type: 'stop'; runId: string }
  | { type: 'job' }
  | { type: 'session'; sessionKey: string }
  /** messages were appended to a transcript of the session */
  | { type: 'messages'; sessionKey: string }
  /** a deferred call was cancelled */
  | { type: 'call'; callId: string }
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
  readonly budgets: BudgetReads;
  readonly waits: WaitReads;
  readonly exchanges: ExchangeReads;
  readonly spawns: SpawnReads;
  readonly deliveries: DeliveryReads;
  readonly attachments: AttachmentReads;
  readonly calls: CallReads;
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
  readonly budgets: BudgetWrites;
  readonly waits: WaitWrites;
  readonly exchanges: ExchangeWrites;
  readonly spawns: SpawnWrites;
  readonly deliveries: DeliveryWrites;
  readonly attachments: AttachmentWrites;
  readonly calls: CallWrites;
  readonly audit: AuditWrites;
  readonly devices: DeviceWrites;
  readonly pairings: PairingWrites;
  readonly jobs: JobWrites;
  readonly purge: PurgeWrites;
  /** Tells listeners after the commit. */
  signal(signal: StoreSignal): void;
}
