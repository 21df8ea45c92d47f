/**
 * The job `maintain-sessions`: what is old enough is purged (A21, B11.1), in steps that are small, each
 * a unit of its own. What goes is hidden from everybody first, so that nothing is read in part.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { planMaintenance } from '../../core/maintenance.ts';
import type { ServiceContext } from '../context.ts';
import { removeMirror } from '../mirror/remove-mirror.ts';
import { condemnDue } from './condemn-due.ts';
import { countDue } from './count-due.ts';
import { addMaintenanceJob } from './maintenance-job.ts';
import { purgeStep } from './purge-step.ts';

const PAUSE_MS = 3_600_000;
/** Steps of one job; what is left is done by the next, so that a gateway can stop in between. */
const MAX_STEPS = 200;

export async function maintainSessions(context: ServiceContext): Promise<void> {
  const { store, clock, logger } = context;
  const plan = planMaintenance(context.config().session.maintenance, clock.now());
  const condemned = await store.write('condemn-due', (tx) => condemnDue(tx, plan));
  const steps = await purge(context);
  const isDone = condemned === 0 && steps < MAX_STEPS;
  if (isDone && !plan.enforces) {
    const due = await store.read((tx) => countDue(tx, plan));
    if (due.sessions + due.transcripts > 0) {
      logger.warn(due, 'old sessions would be purged with session.maintenance.mode "enforce"');
    }
  }
  await store.write('plan-maintenance', (tx) =>
    addMaintenanceJob(tx, isDone ? tx.now + PAUSE_MS : tx.now),
  );
}

/** Returns how many steps it took. */
async function purge(context: ServiceContext): Promise<number> {
  const { store } = context;
  const withoutFile = new Set<string>();
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const target = await store.read(async (tx) => {
      const [window] = await tx.windows.condemned(1);
      if (window === undefined) return undefined;
      const session = await tx.sessions.get(window.sessionKey);
      return { sessionId: window.sessionId, agentId: session?.agentId };
    });
    if (target === undefined) return steps;
    const { sessionId, agentId } = target;
    if (agentId !== undefined && !withoutFile.has(sessionId)) {
      await removeMirror(context.stateDir, { agentId, sessionId });
      withoutFile.add(sessionId);
    }
    await store.write('purge-step', (tx) => purgeStep(tx, sessionId));
    await nextTurn();
  }
  return MAX_STEPS;
}
