import type { SessionCaller } from '../../core/caller.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { DeferredCallRow } from '../../store/call-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { briefly } from '../../util/briefly.ts';

/** Returns the call, or throws the same `not_found` for one that is not there, has expired or is of another session. */
export async function findCall(
  tx: ReadTx,
  { caller, callId, now }: { caller: SessionCaller; callId: string; now: number },
): Promise<DeferredCallRow> {
  const row = await tx.calls.get(callId);
  if (row !== undefined && row.sessionKey === caller.sessionKey && row.expiresAt > now) return row;
  throw new GatewayError(
    'not_found',
    `there is no call ${briefly(callId)} of this session, or it has expired; see the list of its calls`,
  );
}
