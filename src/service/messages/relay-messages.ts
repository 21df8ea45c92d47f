import type { ServiceContext } from '../context.ts';

/** Tells who follows a session that messages were appended, by this gateway or another; returns the way to stop. */
export function relayMessages({
  store,
  events,
}: Pick<ServiceContext, 'store' | 'events'>): () => void {
  return store.onSignal((signal) => {
    if (signal.type === 'messages')
      events.emit({ type: 'messages_appended', sessionKey: signal.sessionKey });
    if (signal.type === 'resync') events.emit({ type: 'messages_appended' });
  });
}
