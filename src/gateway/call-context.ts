import type { OperatorCaller } from '../core/caller.ts';
import type { OperatorScope } from '../protocol/scopes.ts';
import type { ClientFeeds } from './message-feeds.ts';

/** What a request knows of its connection. */
export interface CallContext {
  scopes: readonly OperatorScope[];
  /** the device that proved its key on this connection */
  deviceId?: string | undefined;
  /** aborts when the connection is gone */
  signal: AbortSignal;
  /** sends a response before the last one (`agent` answers twice) */
  respond(payload: unknown): void;
  /** from here on this connection gets the run's text as `agent` events */
  markStarted(runId: string): void;
  /** whether this connection is told `sessions.changed` */
  tellSessions(isWanted: boolean): void;
  /** the sessions whose messages this connection follows */
  feeds: Pick<ClientFeeds, 'open' | 'stop'>;
}

/** Returns who a request acts as. */
export function toCaller({ scopes, deviceId }: CallContext): OperatorCaller {
  return { type: 'operator', scopes, ...(deviceId === undefined ? {} : { deviceId }) };
}
