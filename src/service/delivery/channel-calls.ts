/** Calls of chat services, each with a limit: a service that never answers holds up nobody. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ChannelAdapter } from '../../channels/channel.ts';

/** How a call ended; `over` = it was given up, and may still have its effect. */
export type CallEnd<T> =
  | { type: 'answered'; answer: T }
  | { type: 'rejected'; reason: string }
  | { type: 'over'; reason: string };

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
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), limitMs);
      const signal = AbortSignal.any([limit.signal, stopping.signal]);
      const over = Promise.withResolvers<void>();
      const giveUp = (): void => over.resolve();
      signal.addEventListener('abort', giveUp, { once: true });
      if (signal.aborted) giveUp();
      try {
        return await Promise.race([
          settle(make, signal),
          over.promise.then(() => ({ type: 'over' as const, reason: overText(limitMs, stopping) })),
        ]);
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

async function settle<T>(
  make: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<CallEnd<T>> {
  try {
    return { type: 'answered', answer: await make(signal) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no reason given';
    return { type: 'rejected', reason: `the channel failed: ${reason.slice(0, 300)}` };
  }
}

function overText(limitMs: number, stopping: AbortController): string {
  if (stopping.signal.aborted) return 'the gateway stopped while it was handed over';
  return `the channel did not answer within ${limitMs / 1000} s`;
}
