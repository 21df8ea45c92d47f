/** The logger of a gateway: JSON lines on standard error. */
import pino from 'pino';
import type { Logger } from '../util/logger.ts';

/** Returns a logger at the level of `TRUNKLINE_LOG_LEVEL`, `info` by default. Secrets are never among its fields. */
export function createLogger(level: string): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
