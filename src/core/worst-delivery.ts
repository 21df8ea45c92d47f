import type { DeliveryState } from '../protocol/words.ts';

const WORST_FIRST: readonly DeliveryState[] = [
  'failed',
  'unknown',
  'dropped',
  'suppressed',
  'queued',
  'sending',
  'sent',
];

/** A text is as well delivered as the part of it that fared worst: returns that part, undefined for none. */
export function worstDelivery<Part extends { state: DeliveryState }>(
  parts: readonly Part[],
): Part | undefined {
  const rank = ({ state }: Part): number => WORST_FIRST.indexOf(state);
  return parts.toSorted((a, b) => rank(a) - rank(b))[0];
}
