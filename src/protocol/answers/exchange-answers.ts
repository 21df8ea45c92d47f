/** What is told of exchanges. */
import type { DeliveryState, ExchangeEndReason, ExchangeState, RunOutcome } from '../words.ts';

/** An exchange as a line of `exchanges.list`. */
export interface ExchangeSummary {
  /** is the runId of the message that started it */
  exchangeId: string;
  requesterKey: string;
  targetKey: string;
  requesterRunId: string;
  rootRunId: string;
  state: ExchangeState;
  /** why the loop ended; the announce may still be under way */
  endReason?: ExchangeEndReason;
  endDetail?: string;
  /** reply-back turns done */
  turns: number;
  maxTurns: number;
  createdAt: number;
  endedAt?: number;
}

/** Who said what in one round; `text` is what the other side was told. */
export interface ExchangeTurnView {
  /** 1 = the target's first reply */
  round: number;
  speakerKey: string;
  runId: string;
  messageState: 'queued' | 'running' | 'waiting' | 'done';
  outcome?: RunOutcome;
  text: string;
  textCut?: true;
  error?: string;
  startedAt?: number;
  /** when it was said */
  at?: number;
}

/** What became of the announce: `none` with the reason, its turn, or how its text was delivered. */
export interface AnnounceView {
  state: 'pending' | 'none' | 'turn' | 'silent' | DeliveryState;
  reason?: string;
  runId?: string;
  channel?: string;
  text?: string;
  textCut?: true;
}

export interface ExchangeView extends ExchangeSummary {
  request: { text: string; textCut?: true };
  said: ExchangeTurnView[];
  announce: AnnounceView;
}

export interface ExchangesPage {
  sessionKey: string;
  exchanges: ExchangeSummary[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}
