import { maskBeginning } from '../../core/mask-secrets.ts';
import type { Config } from '../../protocol/options/config.ts';

/**
 * Returns what a session says as another one is told it, in a reply, a turn of an exchange or an announce:
 * without credentials, unless `tools.sessions_history.mask` is off (A8). At most `length` of it is used.
 */
export function wordsOfAnother(config: Config, text: string, length = Infinity): string {
  return config.tools.sessions_history.mask ? maskBeginning(text, length) : text;
}
