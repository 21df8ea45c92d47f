import type { WriteTx } from '../../store/store.ts';

const JOB = 'maintain-sessions';

/** Adds the job that purges what is due, or moves it. There is one for all gateways of a store. */
export async function addMaintenanceJob(tx: WriteTx, runAt: number): Promise<void> {
  await tx.jobs.add({ jobKey: JOB, kind: JOB, payloadJson: '{}', runAt });
  tx.signal({ type: 'job' });
}
