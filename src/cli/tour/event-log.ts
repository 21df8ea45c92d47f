import type { AgentPayload, ChatPayload } from '../../protocol/events.ts';
import type { EventFrame } from '../../protocol/frames.ts';

/** An event of a run, as a client sees it. */
export type RunNews =
  | { event: 'agent'; payload: AgentPayload }
  | { event: 'chat'; payload: ChatPayload };

interface Waiter {
  offer(news: RunNews): boolean;
}

/** Keeps what has happened, so that it does not matter whether one asks before or after. */
export class EventLog {
  readonly #past: RunNews[] = [];
  readonly #waiters = new Set<Waiter>();

  add(frame: EventFrame): void {
    if (frame.event !== 'agent' && frame.event !== 'chat') return;
    // The gateway is our own, of the same version.
    const news = { event: frame.event, payload: frame.payload } as RunNews;
    this.#past.push(news);
    for (const waiter of this.#waiters) if (waiter.offer(news)) this.#waiters.delete(waiter);
  }

  /** Resolves with what `pick` makes of the first event it takes, or undefined at the deadline. */
  async first<Found>(
    pick: (news: RunNews) => Found | undefined,
    timeoutMs: number,
  ): Promise<Found | undefined> {
    for (const news of this.#past) {
      const found = pick(news);
      if (found !== undefined) return found;
    }
    const { promise, resolve } = Promise.withResolvers<Found | undefined>();
    const waiter: Waiter = {
      offer: (news) => {
        const found = pick(news);
        if (found !== undefined) resolve(found);
        return found !== undefined;
      },
    };
    this.#waiters.add(waiter);
    const timer = setTimeout(() => resolve(undefined), timeoutMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }
}
