/** What the methods of deferred calls answer. */
import type { CallState } from '../words.ts';

/** A tool call whose answer is fetched later. */
export interface CallView {
  callId: string;
  tool: string;
  state: CallState;
  /** the runs that it waits for */
  runIds: string[];
  createdAt: number;
  /** of the last change of its state */
  updatedAt: number;
  /** its wait is over then, whatever has come */
  deadlineAt: number;
  /** until then it is kept */
  expiresAt: number;
}

/** The same with the tool's answer, which is there once it has `completed` or `failed`. */
export interface CallRead extends CallView {
  result?: object;
}

/** `result` = the tool refused, and there is no call. */
export type CallStarted = { call: CallRead } | { result: object };

export interface CallsPage {
  calls: CallView[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}
