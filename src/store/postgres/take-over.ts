import type { Logger } from '../../util/logger.ts';
import { IS_DEAD } from './membership.ts';
import type { WriteQueue } from './write-queue.ts';

/** Deleting the row is what declares a gateway dead: its next heartbeat finds nothing. */
const DECLARE_DEAD = `delete from gateways where id <> $1 and ${IS_DEAD} returning id, worker_id`;

/** Frees, in one transaction, what gateways held that are dead; the others are told to look for work. */
export function takeOver(
  writes: WriteQueue,
  { id, logger }: { id: string; logger: Logger },
): Promise<void> {
  return writes
    .add('take-over', async (tx, unit) => {
      const { rows } = await unit.raw(DECLARE_DEAD, [id]);
      const freedLanes = await tx.lanes.freeOrphans(id);
      tx.signal({ type: 'resync' });
      return { gateways: rows.map((row) => row['id']), freedLanes };
    })
    .then((taken) => logger.info(taken, 'took over from gateways that are gone'));
}
