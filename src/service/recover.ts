/** What a gateway does before it opens its port: lanes of a dead process come free again (DESIGN 4). */
import { addMaintenanceJob } from './archive/maintenance-job.ts';
import { listAgents } from '../core/agents.ts';
import type { RunContext } from './context.ts';
import { ensureMainSessions } from './sessions/session-rows.ts';

/** A start has enough to do; what is old can wait. */
const FIRST_LOOK_MS = 60_000;

/** Returns how many lanes an earlier process left; their runs go on from their transcripts. */
export async function recover(context: RunContext): Promise<{ freedLanes: number }> {
  const config = context.config();
  const freedLanes = await context.store.write('recover', async (tx) => {
    await ensureMainSessions(tx, config, listAgents(config));
    // a purge that was going goes on
    const [condemned] = await tx.windows.condemned({ limit: 1 });
    await addMaintenanceJob(tx, condemned === undefined ? tx.now + FIRST_LOOK_MS : tx.now);
    return tx.lanes.freeOrphans(context.bootId);
  });
  if (freedLanes > 0) context.logger.info({ freedLanes }, 'runs of an earlier process go on');
  return { freedLanes };
}
