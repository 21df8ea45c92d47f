/** The chat of the gateway's own clients: a delivery is an event offered to whoever is connected. */
import type { ChannelAdapter, OutgoingPart } from '../channel.ts';

/** Parts whose keys are kept: many more than are offered between an offer and the end of its book-keeping. */
const MAX_KEYS = 10_000;

/**
 * Returns the webchat channel. A part counts as sent when its row is committed and the event was
 * offered; who was offline reads it in `chat.history` (A7). One that is offered again, because the book-keeping
 * after it failed, is shown to nobody twice; after a crash all are connected anew.
 */
export function createWebchat(offer: (part: OutgoingPart) => void): ChannelAdapter {
  const offered = new Set<string>();
  return {
    id: 'webchat',
    idempotent: true,
    reachesOwnClients: true,
    maxPartLength: 100_000,
    send: (part) => {
      const { idempotencyKey } = part;
      if (!offered.has(idempotencyKey)) {
        offer(part);
        offered.add(idempotencyKey);
        forgetOldest(offered);
      }
      return Promise.resolve({ status: 'sent' });
    },
  };
}

function forgetOldest(keys: Set<string>): void {
  const oldest = keys.values().next().value;
  if (keys.size > MAX_KEYS && oldest !== undefined) keys.delete(oldest);
}
