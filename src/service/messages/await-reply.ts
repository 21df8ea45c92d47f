import type { SessionCaller } from '../../core/caller.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsSent } from '../../protocol/tools/session-tool-answers.ts';
import type { RunRow } from '../../store/run-repository.ts';
import { must } from '../../util/assert.ts';
import type { RunServices } from '../context.ts';
import { answerOf, awaitRuns, toldToAnother } from '../runs/wait-for-run.ts';
import { awaitInRun, type Interruption } from '../runs/wait-in-run.ts';

/** Waits for the run of a message and says how it stands, in the words of A9. */
export async function awaitReply(
  services: RunServices,
  { runId, caller, timeoutMs }: { runId: string; caller: SessionCaller; timeoutMs: number },
): Promise<SessionsSent> {
  if (caller.run === undefined) {
    const deadlineAt = services.clock.now() + timeoutMs;
    const wait = { runIds: [runId], mode: 'all', deadlineAt, signal: caller.gone } as const;
    const [run] = await awaitRuns(services, wait);
    const row = must(run, `accepted run ${runId} has no row`);
    return replyOf(row, { timeoutMs, config: services.config() });
  }
  const interruptedBy = await awaitInRun(services, { call: caller.run, mode: 'all' });
  const run = await services.store.read((tx) => tx.runs.get(runId));
  const row = must(run, `accepted run ${runId} has no row`);
  return replyOf(row, { timeoutMs, interruptedBy, config: services.config() });
}

/** Returns what the sender is told of the run of its message, after a wait of so long. */
export function replyOf(
  run: RunRow,
  wait: { timeoutMs: number; config: Config; interruptedBy?: Interruption | undefined },
): SessionsSent {
  const {
    startedAt: _started,
    endedAt: _ended,
    sessionKey: _key,
    ...answer
  } = toldToAnother(wait.config, { answer: answerOf(run, wait.timeoutMs) });
  const { interruptedBy } = wait;
  if (interruptedBy !== undefined && !isOutcome(run.state)) {
    const error = `the wait ended because a message came in for you (run ${interruptedBy.runId}); what you sent was accepted and is still ${run.state}: do not send it again`;
    return { ...answer, error, interruptedBy };
  }
  return answer.status === 'ok' && answer.reply === '' ? { ...answer, noReply: true } : answer;
}
