/** Wakes whoever waits for runs to end. Wakes are hints; the row is the truth. */
import type { Store } from '../../store/store.ts';

export interface RunSubscription {
  /** Resolves when one of the runs has changed since the last call, after `delayMs`, or when the signal aborts; never rejects. */
  next(options: { delayMs: number; signal: AbortSignal | undefined }): Promise<void>;
  close(): void;
}

export interface RunWatch {
  subscribe(runIds: readonly string[]): RunSubscription;
  stop(): void;
}

/** Returns a watch over the store's `run` signals. */
export function createRunWatch(store: Store): RunWatch {
  const subscriptions = new Map<string, Set<() => void>>();
  const stop = store.onSignal((signal) => {
    if (signal.type === 'run') {
      for (const notify of subscriptions.get(signal.runId) ?? []) notify();
    }
    if (signal.type === 'resync') {
      for (const set of subscriptions.values()) for (const notify of set) notify();
    }
  });
  return {
    stop,
    subscribe: (runIds) => {
      const pending: { changed: boolean; wake: (() => void) | undefined } = {
        changed: false,
        wake: undefined,
      };
      const notify = (): void => {
        pending.changed = true;
        pending.wake?.();
      };
      for (const runId of runIds) {
        subscriptions.set(runId, (subscriptions.get(runId) ?? new Set()).add(notify));
      }
      return {
        next: (options) => nextChange(pending, options),
        close: () => {
          for (const runId of runIds) {
            const set = subscriptions.get(runId);
            set?.delete(notify);
            if (set?.size === 0) subscriptions.delete(runId);
          }
        },
      };
    },
  };
}

async function nextChange(
  pending: { changed: boolean; wake: (() => void) | undefined },
  { delayMs, signal }: { delayMs: number; signal: AbortSignal | undefined },
): Promise<void> {
  if (!pending.changed && !(signal?.aborted ?? false)) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, delayMs);
    signal?.addEventListener('abort', () => resolve(), { once: true });
    pending.wake = resolve;
    await promise;
    clearTimeout(timer);
    pending.wake = undefined;
  }
  pending.changed = false;
}
