/** Wakes whoever waits for runs to end, or for a call to be cancelled. Wakes are hints; the row is the truth. */
import type { Store, StoreSignal } from '../../store/store.ts';

export interface RunSubscription {
  /** Resolves when one of them has changed since the last call, after `delayMs`, or when the signal aborts; never rejects. */
  next(options: { delayMs: number; signal: AbortSignal | undefined }): Promise<void>;
  close(): void;
}

export interface RunWatch {
  /** ids of runs and of deferred calls */
  subscribe(ids: readonly string[]): RunSubscription;
  stop(): void;
}

/** Returns a watch over the store's signals of runs and calls. */
export function createRunWatch(store: Store): RunWatch {
  const subscriptions = new Map<string, Set<() => void>>();
  const stop = store.onSignal((signal) => {
    const id = changedBy(signal);
    if (id !== undefined) for (const notify of subscriptions.get(id) ?? []) notify();
    if (signal.type === 'resync') {
      for (const set of subscriptions.values()) for (const notify of set) notify();
    }
  });
  return {
    stop,
    subscribe: (ids) => {
      const pending: { changed: boolean; wake: (() => void) | undefined } = {
        changed: false,
        wake: undefined,
      };
      const notify = (): void => {
        pending.changed = true;
        pending.wake?.();
      };
      for (const id of ids) {
        subscriptions.set(id, (subscriptions.get(id) ?? new Set()).add(notify));
      }
      return {
        next: (options) => nextChange(pending, options),
        close: () => {
          for (const id of ids) {
            const set = subscriptions.get(id);
            set?.delete(notify);
            if (set?.size === 0) subscriptions.delete(id);
          }
        },
      };
    },
  };
}

function changedBy(signal: StoreSignal): string | undefined {
  if (signal.type === 'run') return signal.runId;
  return signal.type === 'call' ? signal.callId : undefined;
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
