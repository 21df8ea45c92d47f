/**
 * The state machine of an exchange: the agent-to-agent loop after a `sessions_send` (A10, B5.4).
 *
 *   primary ──ok, text──▶ due ──▶ turn ──text, turns < max──▶ due
 *      │                   │        └──skip, empty, error, max──▶ announce or done
 *      └──failed, empty──▶ done            announce ──▶ done
 *
 * Round 1 is the primary run. Reply-back turns alternate from the requester; `maxTurns` counts these.
 */
import type { ExchangeEndReason, RunOutcome } from '../protocol/words.ts';

/** How a run of an exchange ended. */
export interface TurnResult {
  outcome: RunOutcome;
  /** visible text, empty when the agent stayed silent */
  reply: string;
  /** the whole reply was REPLY_SKIP */
  isReplySkip: boolean;
}

export interface ExchangeView {
  maxTurns: number;
  /** reply-back turns done */
  turns: number;
}

export type ExchangeStep =
  | { next: 'turn'; speaker: 'requester' | 'target' }
  | { next: 'announce'; endReason: ExchangeEndReason }
  | { next: 'done'; endReason: ExchangeEndReason };

/** Returns who speaks in reply-back turn `turns + 1`: the requester first, then in turn. */
export function nextSpeaker(turns: number): 'requester' | 'target' {
  return turns % 2 === 0 ? 'requester' : 'target';
}

/** Decides what follows the primary run. A failed or silent one has no loop and no announce. */
export function afterPrimary(exchange: ExchangeView, result: TurnResult): ExchangeStep {
  if (result.outcome !== 'ok') return { next: 'done', endReason: 'error' };
  if (result.reply === '') return { next: 'done', endReason: 'empty' };
  if (exchange.maxTurns === 0) return { next: 'announce', endReason: 'max_turns' };
  return { next: 'turn', speaker: nextSpeaker(0) };
}

/** Decides what follows a reply-back turn; `exchange.turns` already counts it. What exists is announced. */
export function afterTurn(exchange: ExchangeView, result: TurnResult): ExchangeStep {
  if (result.outcome !== 'ok') return { next: 'announce', endReason: 'error' };
  if (result.isReplySkip) return { next: 'announce', endReason: 'reply_skip' };
  if (result.reply === '') return { next: 'announce', endReason: 'empty' };
  if (exchange.turns >= exchange.maxTurns) return { next: 'announce', endReason: 'max_turns' };
  return { next: 'turn', speaker: nextSpeaker(exchange.turns) };
}
