/** How a session takes messages while it is busy (B12). */
import type { Config } from '../protocol/options/config.ts';
import type { Channel, QueueDrop, QueueMode } from '../protocol/words.ts';

export interface QueueSettings {
  mode: Exclude<QueueMode, 'queue'>;
  debounceMs: number;
  cap: number;
  drop: QueueDrop;
}

/** What a session sets itself, null = by configuration. */
export interface QueueOverrides {
  queueMode: QueueMode | null;
  queueDebounceMs: number | null;
  queueCap: number | null;
  queueDrop: QueueDrop | null;
}

/** Returns what holds for a message that comes in by this channel: the session's own, the channel's, the configured. */
export function queueSettings(
  config: Config,
  session: QueueOverrides,
  channel: Channel,
): QueueSettings {
  const { mode, byChannel, debounceMs, cap, drop } = config.messages.queue;
  const ofChannel = Object.entries(byChannel).find(([name]) => name === channel)?.[1];
  const chosen = session.queueMode ?? ofChannel ?? mode;
  return {
    mode: chosen === 'queue' ? 'steer' : chosen,
    debounceMs: session.queueDebounceMs ?? debounceMs,
    cap: session.queueCap ?? cap,
    drop: session.queueDrop ?? drop,
  };
}
