/** Calls of chat services, each with a limit: a service that never answers holds up nobody. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ChannelAdapter } from '../../channels/channel.ts';

/** How a call ended; `over` = it was given up, and may still have its effect. */
export type CallEnd<T> =
  | { type: 'answered'; answer: T }
  | { type: 'rejected'; reason: string }
  | { type: 'over'; reason: string }
  /** the gateway stops, and nobody was called */
  | { type: 'not_made'; reason: string };

export interface ChannelCalls {
  /** Resolves with the answer, or when the limit is over or the gateway stops. Never rejects. */
  call<T>(limitMs: number, make: (signal: AbortSignal) => Promise<T>): Promise<CallEnd<T>>;
  /** Returns false when work under this name is going here already; else it is, until `leave`. */
  take(name: string): boolean;
  leave(name: string): void;
  /** Resolves after this time, or when the gateway stops. */
  pause(ms: number): Promise<void>;
  /** Gives up the calls and pauses that are going, and each later one at once. */
  stop(): void;
}

const CALL_LIMIT_MS = 60_000;
/** Characters of what a channel says that are kept. */
export const REASON_MAX = 300;

/** Returns how long a call of this channel may take. */
export function callLimitOf(channel: ChannelAdapter | undefined): number {
  return channel?.callLimitMs ?? CALL_LIMIT_MS;
}

/** Returns the calls of one gateway, none yet. */
export function createChannelCalls(): ChannelCalls {
  const going = new Set<string>();
  const stopping = new AbortController();
  return {
    call: async (limitMs, make) => {
      if (stopping.signal.aborted) return { type: 'not_made', reason: 'the gateway stopped' };
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), limitMs);
      const signal = AbortSignal.any([limit.signal, stopping.signal]);
      const over = Promise.withResolvers<CallEnd<never>>();
      const giveUp = (): void =>
        over.resolve({ type: 'over', reason: overText(limitMs, stopping) });
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        const end = await Promise.race([answerOf(make, signal), over.promise]);
        // A call that ends because it was given up has nothing to say.
        return end.type === 'rejected' && signal.aborted ? await over.promise : end;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
      }
    },
    take: (name) => !going.has(name) && going.add(name).has(name),
    leave: (name) => void going.delete(name),
    pause: (ms) => delay(ms, undefined, { signal: stopping.signal }).catch(() => {}),
    stop: () => stopping.abort(),
  };
}

async function answerOf<T>(
  make: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<CallEnd<T>> {
  try {
    return { type: 'answered', answer: await make(signal) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no reason given';
    return { type: 'rejected', reason: `the channel failed: ${reason.slice(0, REASON_MAX)}` };
  }
}

function overText(limitMs: number, stopping: AbortController): string {
  if (stopping.signal.aborted) return 'the gateway stopped while it was handed over';
  return `the channel did not answer within ${limitMs / 1000} s`;
}
