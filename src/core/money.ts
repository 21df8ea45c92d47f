/**
 * Money in whole nano-dollars, billionths of a US dollar, so that sums are the same in whatever order and by
 * whatever they are taken (docs/decisions/0008-money-in-nano-dollars.md).
 */
import type { ModelPrices } from './models.ts';

/** Tokens of one model call, by what they are priced as. */
export interface TokenCounts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** More than any model call can cost, 10,000 dollars: what a model claims must not overflow a sum. */
const MAX_COST_NANOS = 10_000_000_000_000n;
/** US dollars per million tokens; beyond it a price is a mistake. */
const MAX_PRICE = 1_000_000_000;

/** Returns what a call costs. Exact for prices of up to six decimals, and rounded once, at the end. */
export function costNanosOf(prices: ModelPrices, tokens: TokenCounts): number {
  const picos =
    picosOf(prices.input, tokens.input) +
    picosOf(prices.output, tokens.output) +
    picosOf(prices.cacheRead, tokens.cacheRead) +
    picosOf(prices.cacheWrite, tokens.cacheWrite);
  const nanos = (picos + 500n) / 1000n;
  return Number(nanos < MAX_COST_NANOS ? nanos : MAX_COST_NANOS);
}

/** A dollar for a million tokens is a millionth of a millionth of a million dollars for one: whole picos. */
function picosOf(pricePerMillion: number, tokens: number): bigint {
  const picosPerToken = Math.round(Math.min(pricePerMillion, MAX_PRICE) * 1_000_000);
  return BigInt(picosPerToken) * BigInt(tokens);
}

/** Returns US dollars. Up to two million of them come back unchanged through `nanosOfUsd`. */
export function usdOfNanos(nanos: number): number {
  return nanos / 1_000_000_000;
}

/** Returns the nano-dollars of a sum that was made from nano-dollars. */
export function nanosOfUsd(usd: number): number {
  return Math.round(usd * 1_000_000_000);
}

/** Returns dollars for people, as exact as a nano-dollar: `$0.0105`. */
export function formatUsd(nanos: number): string {
  const digits = (nanos / 1_000_000_000).toFixed(9).replace(/0+$/, '');
  const [whole = '0', part = ''] = digits.split('.');
  return `$${whole}.${part.padEnd(2, '0')}`;
}
