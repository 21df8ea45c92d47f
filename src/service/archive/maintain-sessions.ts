/**
 * The job `maintain-sessions`: what is old enough is purged (A21, B11.1), in steps that are small, each
 * a unit of its own. What goes is hidden from everybody first, so that nothing is read in part.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { planMaintenance } from '../../core/maintenance.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { removeMirror } from '../mirror/remove-mirror.ts';
import { condemnDue } from './condemn-due.ts';
import { countDue } from './count-due.ts';
import { addMaintenanceJob } from './maintenance-job.ts';
import { isInUse } from './open-work.ts';
import { purgeStep } from './purge-step.ts';

/** Before the next job, by what this one left: a run that a deletion has stopped ends soon. */
const PAUSE_MS = { nothing: 3_600_000, in_use: 60_000, more: 0 };
/** Most transcripts in use that are passed over in search of one that is not. */
const MAX_PASSED = 100;
/** Steps of one job; what is left is done by the next, so that a gateway can stop in between. */
const MAX_STEPS = 200;

export async function maintainSessions(context: ServiceContext): Promise<void> {
  const { store, clock, logger } = context;
  const plan = planMaintenance(context.config().session.maintenance, clock.now());
  const condemned = await store.write('condemn-due', (tx) => condemnDue(tx, plan));
  const left = await purge(context);
  const isDone = condemned === 0 && left !== 'more';
  if (isDone && !plan.enforces) {
    const due = await store.read((tx) => countDue(tx, plan));
    if (due.sessions + due.transcripts > 0) {
      logger.warn(due, 'old sessions would be purged with session.maintenance.mode "enforce"');
    }
  }
  await store.write('plan-maintenance', (tx) =>
    addMaintenanceJob(tx, isDone ? tx.now + PAUSE_MS[left] : tx.now),
  );
}

/** Returns what is left; `in_use` = only what still has open work. */
async function purge(context: ServiceContext): Promise<keyof typeof PAUSE_MS> {
  const { store } = context;
  const withoutFile = new Set<string>();
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const target = await store.read(nextToPurge);
    if (typeof target === 'string') return target;
    const { sessionId, agentId } = target;
    if (agentId !== undefined && !withoutFile.has(sessionId)) {
      await removeMirror(context.stateDir, { agentId, sessionId });
      withoutFile.add(sessionId);
    }
    await store.write('purge-step', (tx) => purgeStep(tx, sessionId));
    await nextTurn();
  }
  return 'more';
}

/** A run that was stopped goes on for a moment, and what its end leads to needs its rows: it is not purged under it. */
async function nextToPurge(
  tx: ReadTx,
): Promise<{ sessionId: string; agentId: string | undefined } | 'nothing' | 'in_use'> {
  const condemned = await tx.windows.condemned(MAX_PASSED);
  for (const window of condemned) {
    if (await isInUse(tx, window)) continue;
    const session = await tx.sessions.get(window.sessionKey);
    return { sessionId: window.sessionId, agentId: session?.agentId };
  }
  return condemned.length === 0 ? 'nothing' : 'in_use';
}
