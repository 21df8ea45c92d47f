/** Where an announce goes: the chat captured at the spawn, completed from what is known since (B7.7). */
import type { Route } from '../protocol/words.ts';

/**
 * Returns the captured route; an address or account that it lacks comes from the last route of the
 * same channel. A thread is never taken over: it belongs to the chat that it was captured with.
 */
export function completeRoute(captured: Route, last: Route | undefined): Route {
  if (last === undefined || last.channel !== captured.channel) return captured;
  const to = captured.to ?? last.to;
  const isSameChat = to === last.to;
  const accountId = captured.accountId ?? (isSameChat ? last.accountId : undefined);
  return {
    ...captured,
    ...(to === undefined ? {} : { to }),
    ...(accountId === undefined ? {} : { accountId }),
  };
}
