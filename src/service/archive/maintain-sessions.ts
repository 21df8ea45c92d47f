/**
 * The job `maintain-sessions`: what is old enough is purged (A21, B11.1), in steps that are small, each
 * a unit of its own. What goes is hidden from everybody first, so that nothing is read in part.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type MaintenancePlan, planMaintenance } from '../../core/maintenance.ts';
import type { DueCursor } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { sweepAttachments } from '../attachments/sweep-attachments.ts';
import type { ServiceContext } from '../context.ts';
import { removeMirror } from '../mirror/remove-mirror.ts';
import { condemnDue, DUE_KINDS } from './condemn-due.ts';
import { countDue } from './count-due.ts';
import { addMaintenanceJob } from './maintenance-job.ts';
import { isInUse } from './open-work.ts';
import { purgeStep } from './purge-step.ts';

/** Before the next job, by what this one left: a run that a deletion has stopped ends soon. */
const PAUSE_MS = { nothing: 3_600_000, in_use: 60_000, more: 0 };
/** Condemned transcripts that one look goes through. */
const PAGE = 100;
/** Steps of one job; what is left is done by the next, so that a gateway can stop in between. */
const MAX_STEPS = 200;

export async function maintainSessions(context: ServiceContext): Promise<void> {
  const { store, clock, logger } = context;
  const plan = planMaintenance(context.config().session.maintenance, clock.now());
  const condemned = await condemnAll(context, plan);
  const left = await purge(context);
  const isDone = condemned === 0 && left !== 'more';
  if (isDone && !plan.enforces) {
    const due = await store.read((tx) => countDue(tx, plan));
    if (due.sessions + due.transcripts > 0) {
      logger.warn(due, 'old sessions would be purged with session.maintenance.mode "enforce"');
    }
  }
  if (isDone) await sweepAttachments(context);
  await store.write('plan-maintenance', (tx) =>
    addMaintenanceJob(tx, isDone ? tx.now + PAUSE_MS[left] : tx.now),
  );
}

/** Goes past what has open work, a page a unit, until each kind has had its share or its end; returns how many transcripts. */
async function condemnAll({ store }: ServiceContext, plan: MaintenancePlan): Promise<number> {
  let total = 0;
  for (const kind of DUE_KINDS) {
    let after: DueCursor | undefined;
    for (let more = true; more;) {
      const place = { kind, after };
      const { condemned, next } = await store.write('condemn-due', (tx) =>
        condemnDue(tx, plan, place),
      );
      total += condemned;
      after = next;
      more = next !== undefined && condemned === 0;
    }
  }
  return total;
}

/** Returns what is left; `in_use` = only what still has open work. */
async function purge(context: ServiceContext): Promise<keyof typeof PAUSE_MS> {
  const { store } = context;
  const withoutFile = new Set<string>();
  let after: DueCursor | undefined;
  for (let steps = 0; steps < MAX_STEPS;) {
    const place = after;
    const page = await store.read((tx) => nextToPurge(tx, place));
    const { target } = page;
    if (target !== undefined) {
      const { sessionId, agentId } = target;
      if (agentId !== undefined && !withoutFile.has(sessionId)) {
        await removeMirror(context.stateDir, { agentId, sessionId });
        withoutFile.add(sessionId);
      }
      await store.write('purge-step', (tx) => purgeStep(tx, sessionId));
      steps += 1;
    } else if (page.passed === undefined) {
      return page.isEmpty && after === undefined ? 'nothing' : 'in_use';
    } else {
      after = page.passed;
    }
    await nextTurn();
  }
  return 'more';
}

interface Purgeable {
  target?: { sessionId: string; agentId: string | undefined };
  /** everything up to here is in use, and there may be more behind it */
  passed?: DueCursor | undefined;
  isEmpty: boolean;
}

/** A run that was stopped goes on for a moment, and what its end leads to needs its rows: it is not purged under it. */
async function nextToPurge(tx: ReadTx, after: DueCursor | undefined): Promise<Purgeable> {
  const condemned = await tx.windows.condemned({ after, limit: PAGE });
  for (const window of condemned) {
    if (await isInUse(tx, window)) continue;
    const { sessionId, sessionKey } = window;
    const session = await tx.sessions.get(sessionKey);
    return { target: { sessionId, agentId: session?.agentId }, isEmpty: false };
  }
  const last = condemned.length < PAGE ? undefined : condemned.at(-1);
  const passed = last && { at: last.purgeAt ?? 0, id: last.sessionId };
  return { passed, isEmpty: condemned.length === 0 };
}
