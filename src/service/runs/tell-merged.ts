import type { RunRow } from '../../store/run-repository.ts';
import type { RunContext } from '../context.ts';

/** Tells who watches that the turn of another run has taken these messages in. */
export function tellMerged({ events, clock }: RunContext, merged: readonly RunRow[]): void {
  for (const { runId, sessionKey } of merged) {
    events.emit({ type: 'started', runId, sessionKey, startedAt: clock.now(), attempt: 1 });
  }
}
