import type { Connection } from './connection.ts';
import { createPresence } from './presence.ts';
import type { Presence, PresenceOptions } from './presence.ts';

/** Changes that come together are told together. */
const GATHER_MS = 50;

/**
 * Returns the list of who is connected, told to the connections with `operator.read` as it changes: at
 * most once in `intervalMs`, and none of them what it has been told already, as by the answer to `connect`.
 */
export function createToldPresence({
  connections,
  intervalMs,
  ...options
}: Omit<PresenceOptions, 'onChange'> & {
  connections: ReadonlySet<Pick<Connection, 'lacksPresence' | 'tellPresence'>>;
  intervalMs: number;
}): Presence & { close(): void } {
  const { clock } = options;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let lastAt = -Infinity;

  function tellSoon(): void {
    if (isClosed || timer !== undefined) return;
    // a clock that is set back holds nothing up
    const rest = Math.min(lastAt + intervalMs - clock.now(), intervalMs);
    timer = setTimeout(tell, Math.max(GATHER_MS, rest));
  }

  function tell(): void {
    timer = undefined;
    const version = presence.version();
    const waiting = [...connections].filter((connection) => connection.lacksPresence(version));
    if (waiting.length === 0) return;
    lastAt = clock.now();
    const payloadJson = JSON.stringify({ presence: presence.entries() });
    for (const connection of waiting) connection.tellPresence(payloadJson, version);
  }

  const presence = createPresence({ ...options, onChange: tellSoon });
  return {
    ...presence,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
