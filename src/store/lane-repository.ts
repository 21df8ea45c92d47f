/** The rows of lanes and of the gateways that own them, and what reads and writes them. */
import type { RunClass, SessionState } from '../protocol/words.ts';

/** A gateway that is alive, where several share one database. */
export interface GatewayRow {
  /** boot id, as the owner of lanes */
  id: string;
  /** advisory lock that its session holds while it lives */
  lockKey: number;
  /** who has its jobs locked */
  workerId: string | null;
  heartbeatAt: number;
  /** dead from then on */
  leaseUntil: number;
}

/** One lane per session key: strict order, one owner. */
export interface LaneRow {
  sessionKey: string;
  /** boot id of the owner, null = free */
  owner: string | null;
  /** grows at each claim; fences older owners */
  epoch: number;
  /** seq of the next input */
  nextSeq: number;
  /** unfinished runs */
  pending: number;
  /** class of the run to go next */
  headClass: RunClass | null;
  /** run that is claimed, null = none */
  currentRunId: string | null;
  state: SessionState;
  /** since when its head waits; in the future while collected messages wait for quiet */
  readyAt: number;
  /** the topmost session above this one: lanes of one root take turns with others */
  rootKey: string;
  /** its place in the order of claims: `readyAt`, or when its root was served since */
  turnAt: number;
  /** until when collected messages wait for more of them */
  quietUntil: number;
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
  /**
   * Claims this lane, whatever its class and time, when it is free. `undefined` when it is not there or
   * has an owner. The same unit ends with `leave` or `release`: what nobody plays has no owner.
   */
  take(query: { sessionKey: string; owner: string }): Promise<LaneRow | undefined>;
  /** Clears the owner and leaves the lane the run that it holds. */
  leave(fence: LaneFence): Promise<void>;
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
