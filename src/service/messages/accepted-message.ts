/** What `agent` and `chat.send` ask for, and what they are answered. */
import type { RunOutcome, ThinkingLevel } from '../../protocol/words.ts';

/** What `agent` and `chat.send` accept (SPEC B10.4), already checked for shape. */
export interface AcceptMessage {
  /** key or sessionId; absent = main session of `agentId` */
  sessionKey?: string;
  sessionId?: string;
  agentId?: string;
  message: string;
  method: 'agent' | 'chat.send';
  /** the reply goes to the session's chat */
  deliver: boolean;
  bestEffortDeliver?: boolean;
  channel?: string;
  to?: string;
  accountId?: string;
  threadId?: string;
  thinking?: ThinkingLevel;
  model?: string;
  /** run time limit, ms */
  timeoutMs?: number;
  label?: string;
  extraSystemPrompt?: string;
  idempotencyKey: string;
}

export interface Accepted {
  runId: string;
  sessionKey: string;
  acceptedAt: number;
  /** false = this key was accepted before; `state` says where that run is */
  isNew: boolean;
  state: 'queued' | 'running' | 'waiting' | RunOutcome;
  /** the run whose turn took the message in */
  mergedInto?: string;
}
