import type { ServerContext } from '@modelcontextprotocol/server';

/** ms between two signs of life */
const EVERY_MS = 5000;

/** Does the work, and tells a client that asked for it that the call is still going. */
export async function withProgress<Result>(
  { mcpReq }: ServerContext,
  work: () => Promise<Result>,
): Promise<Result> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return work();
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const progress = Math.round((performance.now() - startedAt) / 1000);
    const params = { progressToken, progress, message: `waiting for ${progress} s` };
    // a client that has gone away needs no signs of life
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  }, EVERY_MS);
  return work().finally(() => clearInterval(timer));
}
