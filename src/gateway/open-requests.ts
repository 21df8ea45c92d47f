import type { ServerResponse } from 'node:http';
import { GatewayError } from '../protocol/errors.ts';

/** Counts a request until its answer is sent or its connection is gone; throws `unavailable` beyond the bound. */
export type CountRequest = (response: Pick<ServerResponse, 'closed' | 'once'>) => void;

/** Returns the counter of one door. */
export function createOpenRequests(max: number): CountRequest {
  let open = 0;
  return (response) => {
    if (open >= max)
      throw new GatewayError('unavailable', 'too many requests at once; try again in a moment', {
        details: { retryAfterMs: 1000 },
      });
    // of a connection that is gone already no `close` comes any more
    if (response.closed) return;
    open += 1;
    response.once('close', () => (open -= 1));
  };
}
