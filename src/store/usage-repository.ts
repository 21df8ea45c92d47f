/** The rows of model calls and of what a session used in a day, and what reads and writes them. */
import type { UsageSum } from '../core/usage-sum.ts';

/** One call of a model, and what it used. Only what may be billed is here. */
export interface ModelCallRow {
  runId: string;
  /** order in the run, from 0 */
  position: number;
  /** attempt of the step, from 1; more after a crash */
  attempt: number;
  /** `provider/id` that was asked */
  model: string;
  /** `unknown` = its answer, if there was one, is lost: nobody knows whether it was billed */
  outcome: 'ok' | 'error' | 'aborted' | 'unknown';
  /** the model said what it used; else the tokens are 0 and the cost null */
  usageKnown: boolean;
  /** without those of the cache */
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** billionths of a US dollar, null = the model is unpriced, or its usage unknown */
  costNanos: number | null;
  at: number;
}

/** What the runs of a session used of one model on one day. */
export interface UsageDayRow extends UsageSum {
  sessionKey: string;
  /** days since 1970-01-01, UTC */
  day: number;
  /** `provider/id` */
  model: string;
  agentId: string;
  rootKey: string;
  /** of the calls: they went with their run, the sums keep them */
  purgedCalls: number;
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
