/**
 * The state machine of an exchange: the agent-to-agent loop after a `sessions_send` (A10, B5.4).
 *
 *   state      event           next state   follow-up
 *   primary    primary-ended   due          advance     the first reply has text
 *                              done         -           it failed or is silent
 *   due        advance         due          -           the run that sent goes on; its end advances again
 *                              turn         turn        the loop goes on
 *                              announce     announce    the loop has ended, and its words can reach a chat
 *                              done         -           it has ended, and they cannot
 *   turn       turn-ended      due          advance     the loop has ended when it has a reason by now
 *   announce   announce-ended  done         -
 *   primary, due, turn   superseded   done  drop-turn   only while the loop has no reason to end yet
 *   any but done         stopped      done  -
 *
 * Any other event is late: it changes nothing. Round 1 is the primary run. Reply-back turns alternate
 * from the requester; `maxTurns` counts these.
 */
import type {
  ExchangeEndReason,
  ExchangeState,
  NoAnnounceReason,
  RunOutcome,
} from '../protocol/words.ts';

/** How a run of an exchange ended. */
export interface TurnResult {
  outcome: RunOutcome;
  /** visible text, empty when the agent stayed silent */
  reply: string;
  /** the whole reply was REPLY_SKIP */
  isReplySkip: boolean;
  /** what went wrong */
  error: string | null;
}

/** What of an exchange decides its next step. */
export interface ExchangeView {
  state: ExchangeState;
  maxTurns: number;
  /** reply-back turns done */
  turns: number;
  /** set once the loop has ended; the announce may still be due */
  endReason: ExchangeEndReason | null;
}

/** What stands in the way of the next reply-back turn. */
export interface TurnObstacle {
  endReason: Extract<ExchangeEndReason, 'error' | 'no_runtime'>;
  detail: string;
}

export type ExchangeEvent =
  | { type: 'primary-ended'; result: TurnResult }
  /** `turn` counts from 1 */
  | { type: 'turn-ended'; turn: number; result: TurnResult }
  | {
      type: 'advance';
      hasRequesterRunEnded: boolean;
      turnObstacle: TurnObstacle | undefined;
      noAnnounce: NoAnnounceReason | undefined;
    }
  | { type: 'announce-ended' }
  | { type: 'superseded' }
  | { type: 'stopped'; detail: string };

/** What an event changes in the exchange. */
export interface ExchangeChange {
  state?: ExchangeState;
  turns?: number;
  firstReply?: string;
  latestReply?: string;
  endReason?: ExchangeEndReason;
  endDetail?: string | null;
  noAnnounce?: NoAnnounceReason;
}

/** A change and what has to follow from it in the same step. */
export interface ExchangeMove {
  change: ExchangeChange;
  follow: 'nothing' | 'advance' | 'turn' | 'announce' | 'drop-turn';
}

/** Returns who speaks in reply-back turn `turns + 1`: the requester first, then in turn. */
export function nextSpeaker(turns: number): 'requester' | 'target' {
  return turns % 2 === 0 ? 'requester' : 'target';
}

/** Returns what the event changes, or undefined when it comes late: after its step, or a second time. */
export function moveExchange(
  exchange: ExchangeView,
  event: ExchangeEvent,
): ExchangeMove | undefined {
  switch (event.type) {
    case 'primary-ended':
      return exchange.state === 'primary' ? afterPrimary(exchange, event.result) : undefined;
    case 'turn-ended':
      if (exchange.state !== 'turn' || event.turn !== exchange.turns + 1) return undefined;
      return afterTurn(exchange, event);
    case 'advance':
      return exchange.state === 'due' ? advance(exchange, event) : undefined;
    case 'announce-ended':
      return exchange.state === 'announce' ? ended({}) : undefined;
    case 'superseded':
      return supersede(exchange);
    case 'stopped':
      return stop(exchange, event.detail);
  }
}

/** A failed or silent first run has no loop and no announce. */
function afterPrimary(exchange: ExchangeView, result: TurnResult): ExchangeMove {
  const { reply } = result;
  if (result.outcome !== 'ok') {
    return ended({ endReason: 'error', endDetail: result.error, noAnnounce: 'no_reply' });
  }
  if (reply === '') return ended({ endReason: 'empty', noAnnounce: 'no_reply' });
  const atLimit = exchange.maxTurns === 0 ? { endReason: 'max_turns' as const } : {};
  return due({ ...atLimit, firstReply: reply, latestReply: reply });
}

/** What exists is announced, whatever ended the loop. The word that ends it is nobody's reply. */
function afterTurn(
  exchange: ExchangeView,
  { turn, result }: { turn: number; result: TurnResult },
): ExchangeMove {
  if (result.outcome !== 'ok') {
    return due({ turns: turn, endReason: 'error', endDetail: result.error });
  }
  if (result.isReplySkip) return due({ turns: turn, endReason: 'reply_skip' });
  if (result.reply === '') return due({ turns: turn, endReason: 'empty' });
  const atLimit = turn >= exchange.maxTurns ? { endReason: 'max_turns' as const } : {};
  return due({ turns: turn, ...atLimit, latestReply: result.reply });
}

function advance(
  exchange: ExchangeView,
  event: Extract<ExchangeEvent, { type: 'advance' }>,
): ExchangeMove {
  const { hasRequesterRunEnded, turnObstacle, noAnnounce } = event;
  if (exchange.endReason === null) {
    if (!hasRequesterRunEnded) return { change: {}, follow: 'nothing' };
    if (turnObstacle === undefined) return { change: { state: 'turn' }, follow: 'turn' };
  }
  const reason =
    exchange.endReason !== null || turnObstacle === undefined
      ? {}
      : { endReason: turnObstacle.endReason, endDetail: turnObstacle.detail };
  if (noAnnounce !== undefined) return ended({ ...reason, noAnnounce });
  return { change: { ...reason, state: 'announce' }, follow: 'announce' };
}

/** A loop that has ended has an outcome, which is told: only one that still talks gives way. */
function supersede(exchange: ExchangeView): ExchangeMove | undefined {
  if (exchange.state === 'done' || exchange.endReason !== null) return undefined;
  const { change } = ended({ endReason: 'superseded', noAnnounce: 'superseded' });
  return { change, follow: exchange.state === 'turn' ? 'drop-turn' : 'nothing' };
}

function stop(exchange: ExchangeView, detail: string): ExchangeMove | undefined {
  if (exchange.state === 'done') return undefined;
  const { endReason } = exchange;
  const reason = { endReason: endReason ?? 'error', endDetail: detail };
  return ended({ ...reason, noAnnounce: 'stopped' });
}

function due(change: ExchangeChange): ExchangeMove {
  return { change: { ...change, state: 'due' }, follow: 'advance' };
}

function ended(change: ExchangeChange): ExchangeMove {
  return { change: { ...change, state: 'done' }, follow: 'nothing' };
}
