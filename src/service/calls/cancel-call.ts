import type { SessionCaller } from '../../core/caller.ts';
import type { CallRead } from '../../protocol/answers/call-answers.ts';
import type { ServiceContext } from '../context.ts';
import { findCall } from './find-call.ts';
import { lookAtCall } from './look-at-call.ts';

/**
 * `calls.cancel`: ends the wait for good; its runs go on. Returns the call as it stands then: one that was
 * over before stays as it is. Rejects `not_found`.
 */
export function cancelCall(
  context: ServiceContext,
  caller: SessionCaller,
  callId: string,
): Promise<CallRead> {
  return context.store.write('cancel-call', async (tx) => {
    const { now } = tx;
    const row = await findCall(tx, { caller, callId, now });
    const call = await lookAtCall(tx, context, { caller, row, now });
    if (call.state !== 'working') return call;
    await tx.calls.cancel(callId, now);
    tx.signal({ type: 'call', callId });
    return { ...call, state: 'cancelled', updatedAt: now };
  });
}
