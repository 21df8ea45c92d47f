/** A deferred call as its session sees it, from its row and the runs that it waits for. */
import type { SessionCaller } from '../../core/caller.ts';
import { type CallStanding, runAsOf, standingOf } from '../../core/deferred-call.ts';
import { faultOf, toldOf } from '../../core/refusals.ts';
import type { CallRead, CallView } from '../../protocol/answers/call-answers.ts';
import { isToolFailure } from '../../protocol/tools/session-tools.ts';
import type { DeferredCallRow } from '../../store/call-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { replyOf } from '../messages/await-reply.ts';
import type { ServiceContext } from '../context.ts';
import { sessionTargets, type WaitedTarget } from '../runs/wait-targets.ts';
import { readTargets, waitedAnswer } from '../runs/wait-for-runs.ts';

const TORN = 'the row of this call cannot be read; trunkline doctor says more';

interface Waited {
  targets: readonly WaitedTarget[];
  runs: readonly RunRow[];
}

/** Returns how the call stands at `now`, with its answer when it has one. What its session may see no longer is refused in it. */
export async function lookAtCall(
  tx: ReadTx,
  context: Pick<ServiceContext, 'config'>,
  { caller, row, now }: { caller: SessionCaller; row: DeferredCallRow; now: number },
): Promise<CallRead> {
  const { cancelledAt, createdAt } = row;
  if (cancelledAt !== null) return seenAs(row, { type: 'cancelled', at: cancelledAt });
  const refused = { type: 'answered', at: createdAt } as const;
  const runIds = runIdsOf(row);
  if (runIds.length === 0) return seenAs(row, refused, faultOf('failed', TORN));
  const found = await sessionTargets(tx, context, { caller, args: { runIds } });
  if ('error' in found) return seenAs(row, refused, toldOf(found));
  const runs = await readTargets(tx, found.targets);
  const standing = standingOf(row, { runs, now });
  if (standing.type !== 'answered') return seenAs(row, standing);
  const waited = { targets: found.targets, runs: runs.map((run) => runAsOf(run, standing.at)) };
  return seenAs(row, standing, answerOf(context, row, waited));
}

/** The runs that a call waits for; none when its row is torn. */
export function runIdsOf({ runIdsJson }: DeferredCallRow): string[] {
  try {
    const stored: unknown = JSON.parse(runIdsJson);
    return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}

function seenAs(row: DeferredCallRow, standing: CallStanding, result?: object): CallRead {
  const { callId, tool, createdAt, deadlineAt, expiresAt } = row;
  const updatedAt = standing.type === 'working' ? createdAt : standing.at;
  const view = { callId, tool, runIds: runIdsOf(row), createdAt, updatedAt, deadlineAt, expiresAt };
  if (result === undefined)
    return { ...view, state: standing.type === 'cancelled' ? 'cancelled' : 'working' };
  return { ...view, state: isToolFailure(result) ? 'failed' : 'completed', result };
}

/** The words in which the call itself would have answered. */
function answerOf(
  context: Pick<ServiceContext, 'config'>,
  row: DeferredCallRow,
  { targets, runs }: Waited,
): object {
  const [run] = runs;
  const [target] = targets;
  if (row.tool !== 'sessions_send' || run === undefined || target === undefined)
    return waitedAnswer(context, {
      targets,
      runs,
      mode: row.mode,
      reader: 'session',
      interruptedBy: undefined,
    });
  const timeoutMs = row.deadlineAt - row.createdAt;
  return {
    ...replyOf(run, { timeoutMs, config: context.config() }),
    sessionKey: target.shownKey,
  };
}

/** The same without the answer, as lists have it. */
export function withoutAnswer({ result: _answer, ...view }: CallRead): CallView {
  return view;
}
