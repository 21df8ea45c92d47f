/** The job that removes the attachments of a child (A17): the row says so first, so that a crash changes nothing. */
import { workspaceOf } from '../../core/agents.ts';
import type { AttachmentRow } from '../../store/attachment-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { NoFolderError } from '../../util/anchored-folder.ts';
import type { ServiceContext } from '../context.ts';
import { removeFolder } from './attachment-folder.ts';

const JOB = 'remove-attachments';

/** Gives the attachments of a child up: a job removes them. Does nothing where there are none, or none any more. */
export async function releaseAttachments(tx: WriteTx, childKey: string): Promise<void> {
  const row = await tx.attachments.ofChild(childKey);
  if (row?.state !== 'kept') return;
  const { folderId } = row;
  await tx.attachments.update(folderId, { state: 'leaving' });
  const payloadJson = JSON.stringify({ folderId });
  await tx.jobs.add({ jobKey: jobKeyOf(folderId), kind: JOB, payloadJson, runAt: tx.now });
  tx.signal({ type: 'job' });
}

/** Removes the folder, then books it. A folder that is not there is as good as removed. */
export async function removeAttachments(context: ServiceContext, folderId: string): Promise<void> {
  const row = await context.store.read((tx) => tx.attachments.get(folderId));
  if (row?.state === 'leaving') await removeFolderOf(context, row);
  await context.store.write('remove-attachments', async (tx) => {
    await tx.jobs.remove(jobKeyOf(folderId));
    const current = await tx.attachments.get(folderId);
    if (current?.state !== 'leaving') return;
    // the row is what a retried spawn answers with, as long as there is a child
    const child = await tx.sessions.get(current.childKey);
    await (child === undefined
      ? tx.attachments.remove(folderId)
      : tx.attachments.update(folderId, { state: 'gone' }));
  });
}

async function removeFolderOf(
  { config, stateDir, logger }: ServiceContext,
  { folderId, agentId }: AttachmentRow,
): Promise<void> {
  try {
    await removeFolder(workspaceOf(config(), { agentId, stateDir }), folderId);
  } catch (error) {
    if (!(error instanceof NoFolderError)) throw error;
    // Somebody has put a link in place of what was written. What it leads to is none of ours.
    logger.warn({ agentId, folderId }, 'attachments were not removed: their folder was replaced');
  }
}

function jobKeyOf(folderId: string): string {
  return `${JOB}:${folderId}`;
}
