import type { SessionCaller } from '../../core/caller.ts';
import type { CallRead } from '../../protocol/answers/call-answers.ts';
import { MAX_TIMER_MS } from '../../util/clock.ts';
import type { RunServices } from '../context.ts';
import { findCall } from './find-call.ts';
import { lookAtCall, runIdsOf } from './look-at-call.ts';

export interface ReadCall {
  callId: string;
  /** how long to wait for its end */
  timeoutMs: number;
  signal?: AbortSignal;
}

/** `calls.get`: how a call stands, once it is over or the time or the signal ends the wait. Rejects `not_found`. */
export async function readCall(
  services: RunServices,
  caller: SessionCaller,
  { callId, timeoutMs, signal }: ReadCall,
): Promise<CallRead> {
  const { store, clock, watch } = services;
  const look = () =>
    store.read(async (tx) => {
      const now = clock.now();
      const row = await findCall(tx, { caller, callId, now });
      return { row, call: await lookAtCall(tx, services, { caller, row, now }) };
    });
  const until = clock.now() + timeoutMs;
  const first = await look();
  if (first.call.state !== 'working' || timeoutMs === 0) return first.call;
  const subscription = watch.subscribe([callId, ...runIdsOf(first.row)]);
  try {
    for (;;) {
      const { call } = await look();
      const leftMs = until - clock.now();
      if (call.state !== 'working' || leftMs <= 0 || signal?.aborted === true) return call;
      const overInMs = Math.max(call.deadlineAt - clock.now(), 0);
      await subscription.next({ delayMs: Math.min(leftMs, overInMs, MAX_TIMER_MS), signal });
    }
  } finally {
    subscription.close();
  }
}
