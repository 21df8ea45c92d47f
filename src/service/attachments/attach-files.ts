/** Bringing the files of a spawn into the workspace of its child, before the row that names them (A17). */
import { randomUUID } from 'node:crypto';
import { factsOf, type Attachment, type AttachmentFacts } from '../../core/attachments.ts';
import { parseStoredObject } from '../../core/stored-message.ts';
import type { AttachmentReceipt } from '../../protocol/tools/session-tool-answers.ts';
import type { AttachmentRow } from '../../store/attachment-repository.ts';
import { NoFolderError } from '../../util/anchored-folder.ts';
import { codeOf } from '../../util/error-code.ts';
import type { ServiceContext } from '../context.ts';
import { discardFolder, relDirOf, writeFolder } from './attachment-folder.ts';

/** Files that are on the disk, in a folder that no row names yet. */
export interface AttachedFolder {
  folderId: string;
  files: AttachmentFacts[];
}

/** Writes the files to the disk and returns their folder, or one sentence that says why they cannot be written. */
export async function attachFiles(
  context: ServiceContext,
  { workspace, agentId, files }: { workspace: string; agentId: string; files: Attachment[] },
): Promise<AttachedFolder | string> {
  const { store, clock, logger } = context;
  const storeId = await store.read((tx) => tx.attachments.storeId());
  const folderId = randomUUID();
  try {
    await writeFolder(workspace, { folderId, files, storeId, createdAt: clock.now() });
    return { folderId, files: files.map(factsOf) };
  } catch (err) {
    const why = err instanceof NoFolderError ? 'symlink' : codeOf(err);
    if (why === undefined) throw err;
    logger.warn({ err, agentId, workspace }, 'attachments could not be written');
    const reason =
      why === 'symlink'
        ? '.openclaw or .openclaw/attachments there is a symbolic link or no folder, and must be removed'
        : `the disk says ${why}`;
    return `the attachments cannot be written into the workspace of agent ${agentId}: ${reason}; no child was started`;
  }
}

/** Removes files that no row will name. What the disk keeps is left to the sweep: the spawn has its answer already. */
export async function takeBack(
  { logger }: Pick<ServiceContext, 'logger'>,
  { workspace, folder: { folderId } }: { workspace: string; folder: AttachedFolder },
): Promise<void> {
  await discardFolder(workspace, folderId).catch((err: unknown) => {
    logger.warn({ err, workspace, folderId }, 'attachments that no child got were not removed');
  });
}

/** Returns what a spawn answers about its attachments. */
export function receiptOf(folderId: string, files: readonly AttachmentFacts[]): AttachmentReceipt {
  return {
    count: files.length,
    totalBytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files: files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
    relDir: relDirOf(folderId),
  };
}

/** Returns the files that a row names. */
export function filesOf({ filesJson }: Pick<AttachmentRow, 'filesJson'>): AttachmentFacts[] {
  const files = parseStoredObject(filesJson)?.['files'];
  return Array.isArray(files) ? (files as AttachmentFacts[]) : [];
}

/** Returns the files as a row keeps them. */
export function toFilesJson(files: readonly AttachmentFacts[]): string {
  return JSON.stringify({ files: files.map(factsOf) });
}
