/** The chat of the gateway's own clients: a delivery is an event offered to whoever is connected. */
import type { ChannelAdapter, OutgoingPart } from '../channel.ts';

/**
 * Returns the webchat channel. A part counts as sent when its row is committed and the event was
 * offered; who was offline reads it in `chat.history` (A7). Offering again after a crash is harmless.
 */
export function createWebchat(offer: (part: OutgoingPart) => void): ChannelAdapter {
  return {
    id: 'webchat',
    idempotent: true,
    reachesOwnClients: true,
    maxPartLength: 100_000,
    send: (part) => {
      offer(part);
      return Promise.resolve({ status: 'sent' });
    },
  };
}
