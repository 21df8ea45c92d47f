import type { Route } from '../protocol/words.ts';

/** What of a route may be absent, as rows and parameters have it. */
export interface RouteParts {
  to?: string | null | undefined;
  accountId?: string | null | undefined;
  threadId?: string | null | undefined;
}

/** Returns the route of a channel with the parts that are there. */
export function routeOfParts(channel: string, { to, accountId, threadId }: RouteParts): Route {
  return {
    channel,
    ...(isThere(to) ? { to } : {}),
    ...(isThere(accountId) ? { accountId } : {}),
    ...(isThere(threadId) ? { threadId } : {}),
  };
}

function isThere(part: string | null | undefined): part is string {
  return part !== undefined && part !== null;
}
