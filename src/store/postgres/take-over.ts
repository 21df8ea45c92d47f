import type { Logger } from '../../util/logger.ts';
import { IS_DEAD } from './membership.ts';
import type { WriteQueue } from './write-queue.ts';

/** Deleting the row is what declares a gateway dead: its next heartbeat finds nothing. */
const DECLARE_DEAD = `delete from gateways where id <> $1 and ${IS_DEAD} returning id, worker_id`;

/**
 * Jobs of workers that no gateway has: of those that are dead now, and of those that died before they
 * had said their name. A job without a key that may not run again has had its effect.
 */
const UNLOCK_JOBS = `select graphile_worker.force_unlock_workers(array(
  select locked_by from graphile_worker._private_jobs
  where locked_by is not null
    and (locked_by = any($1::text[]) or locked_at < now() - interval '10 seconds')
    and locked_by not in (select worker_id from gateways where worker_id is not null)))`;
const REMOVE_DONE_JOBS = `delete from graphile_worker._private_jobs
where key is null and locked_at is null and attempts >= max_attempts`;

/** Frees, in one transaction, what gateways held that are dead; the others are told to look for work. */
export function takeOver(
  writes: WriteQueue,
  { id, logger }: { id: string; logger: Logger },
): Promise<void> {
  return writes
    .add('take-over', async (tx, unit) => {
      const { rows } = await unit.raw(DECLARE_DEAD, [id]);
      const workers = rows
        .map((row) => row['worker_id'])
        .filter((worker) => typeof worker === 'string');
      await unit.raw(UNLOCK_JOBS, [`{${workers.join(',')}}`]);
      await unit.raw(REMOVE_DONE_JOBS, []);
      const freedLanes = await tx.lanes.freeOrphans(id);
      tx.signal({ type: 'resync' });
      return { gateways: rows.map((row) => row['id']), freedLanes };
    })
    .then((taken) => logger.info(taken, 'took over from gateways that are gone'));
}
