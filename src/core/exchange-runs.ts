/** The runs of an exchange have fixed ids, so that each can be queued only once, whoever tries it again. */
import type { ExchangeState } from '../protocol/words.ts';

/** Returns the id of reply-back turn `turn`, counted from 1. */
export function turnRunId(exchangeId: string, turn: number): string {
  return `${exchangeId}:turn:${turn}`;
}

/** Returns the id of the announce turn. */
export function announceRunId(exchangeId: string): string {
  return `${exchangeId}:announce`;
}

/** Returns the run that an exchange is at, or will be at next. */
export function currentRunId(exchange: {
  exchangeId: string;
  state: ExchangeState;
  turns: number;
}): string {
  const { exchangeId, state, turns } = exchange;
  if (state === 'primary') return exchangeId;
  return state === 'announce' ? announceRunId(exchangeId) : turnRunId(exchangeId, turns + 1);
}

/** What a run is in its exchange; `turn` counts from 1. */
export type ExchangePart =
  | { type: 'primary' }
  | { type: 'turn'; turn: number }
  | { type: 'announce' };

/** Returns what the run is in this exchange, or undefined when its id is none of the exchange's. */
export function partOf(exchangeId: string, runId: string): ExchangePart | undefined {
  if (runId === exchangeId) return { type: 'primary' };
  if (runId === announceRunId(exchangeId)) return { type: 'announce' };
  const prefix = turnRunId(exchangeId, 0).slice(0, -1);
  if (!runId.startsWith(prefix)) return undefined;
  const turn = Number(runId.slice(prefix.length));
  return Number.isInteger(turn) && turn > 0 ? { type: 'turn', turn } : undefined;
}
