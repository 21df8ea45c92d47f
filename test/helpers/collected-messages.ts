/** What somebody who follows a session is told, and when that much has come. */
import type { SessionMessage } from '../../src/client/followed-messages.ts';

export interface CollectedMessages {
  messages: SessionMessage[];
  onMessage: (message: SessionMessage) => void;
  /** Resolves when that many messages have come. */
  until(count: number): Promise<void>;
}

/** Returns a listener with nothing told yet. */
export function collectMessages(): CollectedMessages {
  const messages: SessionMessage[] = [];
  const waiters = new Set<() => void>();
  return {
    messages,
    onMessage: (message) => {
      messages.push(message);
      for (const wake of waiters) wake();
      waiters.clear();
    },
    until: async (count) => {
      while (messages.length < count) await new Promise<void>((resolve) => waiters.add(resolve));
    },
  };
}
