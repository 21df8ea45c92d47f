import { isOutcome } from '../../core/run-state.ts';
import type { AssistantMessage } from '../../protocol/message.ts';
import { must } from '../../util/assert.ts';
import type { ServiceContext } from '../context.ts';
import type { ClosedRun } from './close-run.ts';

/** Tells who watches how a run, and those that had joined its turn, ended; call it after the commit. */
export function tellClosed(
  { events, clock }: Pick<ServiceContext, 'events' | 'clock'>,
  { closed, message }: { closed: ClosedRun; message: AssistantMessage | undefined },
): void {
  for (const { run, delivered } of [closed, ...closed.merged]) {
    events.emit({
      type: 'ended',
      runId: run.runId,
      sessionKey: run.sessionKey,
      state: must(isOutcome(run.state) ? run.state : undefined, `run ${run.runId} goes on`),
      ...(message === undefined ? {} : { message }),
      reply: closed.reply,
      ...(run.error === null ? {} : { error: run.error }),
      ...(run.startedAt === null ? {} : { startedAt: run.startedAt }),
      endedAt: run.endedAt ?? clock.now(),
      delivered,
      ...(run.mergedInto === null ? {} : { mergedInto: run.mergedInto }),
    });
  }
}
