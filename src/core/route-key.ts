/** The name of a chat, by which its outgoing texts are kept in order (A19). */
import { createHash } from 'node:crypto';
import type { Route } from '../protocol/words.ts';

/** Returns the same short name for the same chat: channel, account, address and thread. */
export function routeKeyOf({ channel, accountId, to, threadId }: Route): string {
  const parts = [channel, accountId ?? null, to ?? null, threadId ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
