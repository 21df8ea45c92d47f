/** Chats and keys: the chat that a key itself addresses, for sessions that have recorded no route (B5.5). */
import type { Route } from '../protocol/words.ts';
import { parseKey } from './keys.ts';

/**
 * Returns where a group, channel or direct session's chat is, or undefined when its key does not say.
 * A topic or thread is the documented ending of the id, and is read for addressing only.
 */
export function routeOfKey(key: string): Route | undefined {
  const { form, channel, id, accountId } = parseKey(key);
  const isChat = form === 'group' || form === 'channel' || form === 'room' || form === 'direct';
  if (!isChat || channel === undefined || id === undefined) return undefined;
  const ending = /^(.+):(?:topic|thread):([^:]+)$/s.exec(id);
  return {
    channel,
    to: ending?.[1] ?? id,
    ...(accountId === undefined ? {} : { accountId }),
    ...(ending?.[2] === undefined ? {} : { threadId: ending[2] }),
  };
}
