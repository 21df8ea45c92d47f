import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '../../util/logger.ts';
import type { StoreSignal } from '../store.ts';

export const CHANNEL = 'trunkline';

/** Postgres refuses a payload of 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7500;
const RETRY_MS = 1000;
const RESYNC: StoreSignal = { type: 'resync' };

/** Returns the signals of a payload that another gateway sent; none for our own and for what is unknown. */
export function readPayload(payload: string, ownId: string): StoreSignal[] {
  try {
    const { from, signals } = JSON.parse(payload) as { from: string; signals: StoreSignal[] };
    return from === ownId ? [] : signals;
  } catch {
    return [];
  }
}

/**
 * Tells the other gateways what changed: ids only, outside of transactions, all that has gathered
 * since the last call in one. What cannot be told in one payload is told as `resync`.
 */
export class Notifier {
  readonly #pool: pg.Pool;
  readonly #id: string;
  readonly #logger: Logger;
  #gathered = new Map<string, StoreSignal>();
  #sending: Promise<void> | undefined;
  #isClosed = false;

  constructor(pool: pg.Pool, options: { id: string; logger: Logger }) {
    this.#pool = pool;
    this.#id = options.id;
    this.#logger = options.logger;
  }

  add(signals: readonly StoreSignal[]): void {
    for (const signal of signals) this.#gathered.set(JSON.stringify(signal), signal);
    if (this.#gathered.size > 0 && !this.#isClosed) this.#sending ??= this.#send();
  }

  /** Resolves when all that was added is told, or cannot be told now. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sending;
  }

  async #send(): Promise<void> {
    // one turn of the event loop: commits that follow at once are told together
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#gathered.size > 0) {
      const payload = toPayload(this.#id, [...this.#gathered.values()]);
      this.#gathered = new Map();
      try {
        await this.#pool.query('select pg_notify($1, $2)', [CHANNEL, payload]);
      } catch (error) {
        this.#logger.warn({ err: error }, 'other gateways were not told; tried again');
        this.#gathered.set('resync', RESYNC);
        if (this.#isClosed) break;
        await delay(RETRY_MS);
      }
    }
    this.#sending = undefined;
  }
}

function toPayload(from: string, signals: StoreSignal[]): string {
  const payload = JSON.stringify({ from, signals });
  if (Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES) return payload;
  return JSON.stringify({ from, signals: [RESYNC] });
}
