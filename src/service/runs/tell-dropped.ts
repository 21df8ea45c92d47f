import { isOutcome } from '../../core/run-state.ts';
import type { RunRow } from '../../store/run-repository.ts';
import { must } from '../../util/assert.ts';
import type { ServiceContext } from '../context.ts';

/** Tells who watches of runs that ended without being played to their end; their rows say it already. */
export function tellDropped(
  { events, clock }: Pick<ServiceContext, 'events' | 'clock'>,
  dropped: readonly RunRow[],
): void {
  for (const run of dropped) {
    const { runId, sessionKey, error, startedAt, endedAt } = run;
    events.emit({
      type: 'ended',
      runId,
      sessionKey,
      state: must(isOutcome(run.state) ? run.state : undefined, `run ${runId} goes on`),
      reply: '',
      ...(error === null ? {} : { error }),
      ...(startedAt === null ? {} : { startedAt }),
      endedAt: endedAt ?? clock.now(),
      delivered: false,
    });
  }
}
