/** Reading and writing what follows from runs: exchanges, spawns, deliveries, jobs. */
import type { DeliveryRow, ExchangeRow, JobRow, SpawnRow } from './rows.ts';

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
