/** `sessions.reset` (B10.4): a new transcript under the same key; the old one stays readable by its sessionId. */
import { randomUUID } from 'node:crypto';
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { RunServices } from '../context.ts';
import { finishStop, type Stopping, stopIn } from '../runs/stop-runs.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import { restartBudget } from '../budgets/budget-rows.ts';
import { ensureSession } from '../sessions/session-rows.ts';
import type { Services } from '../services.ts';
import { endExchangesOf } from './end-exchanges.ts';

/**
 * Stops the run that the session is at, ends its exchanges and gives it a new, empty transcript.
 * What waits in its lane goes on there. Settings are kept. Rejects what is not there, or closed.
 */
export async function resetSession(
  services: RunServices,
  caller: OperatorCaller,
  { key: name }: { key: string },
): ReturnType<Services['resetSession']> {
  const config = services.config();
  const { answer, stopping } = await services.store.write('reset-session', async (tx) => {
    const found = await lookUpForOperator(tx, config, name);
    const { key, agentId, closure } = found;
    if (closure !== undefined) {
      throw new GatewayError('invalid_request', `session ${key} is ${closure}; it cannot be reset`);
    }
    const hadRow = found.session !== undefined;
    const session = await ensureSession(tx, config, { key, agentId });
    const stopped = await stopTurn(tx, services, session);
    await endExchangesOf(tx, { key, why: `session ${key} was reset`, keepsWaiting: true });
    const sessionId = hadRow ? randomUUID() : session.sessionId;
    await tx.sessions.update(key, freshPart(sessionId, tx.now));
    await restartBudget(tx, key);
    await audit(tx, {
      actor: operatorName(caller),
      action: 'sessions.reset',
      subjectKind: 'session',
      subjectId: key,
      sessionKey: key,
      detail: { sessionId, previousSessionId: hadRow ? session.sessionId : null },
    });
    tx.signal({ type: 'session', sessionKey: key });
    return {
      stopping: stopped,
      answer: {
        key,
        sessionId,
        ...(hadRow ? { previousSessionId: session.sessionId } : {}),
        stopped: stopped.stopped.map(({ runId }) => runId),
      },
    };
  });
  await finishStop(services, stopping);
  services.events.emit({ type: 'session_changed', sessionKey: answer.key });
  return answer;
}

/** What tells of the transcript, and not of the session. */
function freshPart(sessionId: string, now: number): Partial<SessionRow> {
  return {
    sessionId,
    totalTokens: null,
    systemSent: false,
    abortedLastRun: false,
    updatedAt: now,
  };
}

/**
 * The turn that is going writes into the old transcript to its end; nothing of it comes into the new
 * one. Turns of exchanges that wait there are none of anybody's messages.
 */
async function stopTurn(
  tx: WriteTx,
  services: RunServices,
  { key }: SessionRow,
): Promise<Stopping> {
  const lane = await tx.lanes.hold(key);
  const runId = lane?.currentRunId ?? null;
  const current = runId === null ? undefined : await tx.runs.get(runId);
  const turns = (await tx.runs.queuedOf(key)).filter(isTurn);
  const runs = [...(current === undefined ? [] : [current]), ...turns];
  const stopping: Stopping = { stopped: [], exchanges: 0, dropped: [], stranded: [] };
  for (const run of runs) {
    const target = { type: 'run', run } as const;
    const one = await stopIn(tx, services, { by: 'operator', stopKey: undefined, target });
    stopping.stopped.push(...one.stopped);
    stopping.exchanges += one.exchanges;
    stopping.dropped.push(...one.dropped);
    stopping.stranded.push(...one.stranded);
  }
  return stopping;
}

function isTurn({ purpose }: RunRow): boolean {
  return purpose === 'exchange_turn' || purpose === 'exchange_announce';
}
