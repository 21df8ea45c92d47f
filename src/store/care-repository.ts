/** Reading and writing what keeps the store in order and says who did what: purge, audit log, devices. */
import type { AuditRow, DeviceRow, PairingRow, RunRow } from './rows.ts';

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
  /** Removes notes that are in a transcript, texts alone where a key is kept; returns how many. */
  notes(range: PurgeRange, limit: number): Promise<number>;
  /** The same for texts that need nobody any more. */
  deliveries(range: PurgeRange, limit: number): Promise<number>;
  window(sessionId: string): Promise<void>;
  /** Removes the row of a session that has nothing left, with lane and lineage. */
  session(key: string): Promise<void>;
}

/** Which lines of the audit log a page sees; each has an index. */
export type AuditScope =
  | { sessionKey: string }
  | { subjectKind: string; subjectId: string }
  | { action: string }
  | { actor: string };

export interface AuditReads {
  /** Lines strictly after `cursor`, newest first, of one session, subject, action or actor, or all. */
  page(query: {
    of?: AuditScope;
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
