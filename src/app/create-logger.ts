/** The logger of a gateway: JSON lines on standard error, without credentials. */
import pino from 'pino';
import { maskKnown, maskValue } from '../core/mask-secrets.ts';
import type { Logger } from '../util/logger.ts';

/**
 * Returns a logger at the level of `TRUNKLINE_LOG_LEVEL`, `info` by default. What `secrets` returns, and what
 * looks like a credential, is masked in every message, error and field.
 */
export function createLogger(level: string, secrets: () => readonly string[] = () => []): Logger {
  const destination = pino.destination({ dest: 2, sync: true });
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => void destination.write(maskLine(line, secrets())) },
  );
}

/** Returns the line without credentials. It is masked as what it says, because JSON writes some texts in another way. */
export function maskLine(line: string, secrets: readonly string[]): string {
  const said: unknown = JSON.parse(line);
  const masked = maskValue(said, (text) => maskKnown(text, secrets));
  return masked === said ? line : `${JSON.stringify(masked)}\n`;
}
