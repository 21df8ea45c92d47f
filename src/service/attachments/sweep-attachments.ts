/** Removing folders of attachments that no row names: of spawns that were killed before their commit (A17). */
import { listAgents, workspaceOf } from '../../core/agents.ts';
import { NoFolderError } from '../../util/anchored-folder.ts';
import type { ServiceContext } from '../context.ts';
import { type FoundFolder, listFolders, removeMember } from './attachment-folder.ts';

/** A spawn that is at it has its row long before. */
const YOUNG_MS = 3_600_000;
/** Rows that one read looks up. */
const PAGE = 100;

/**
 * Removes what this store has written into the workspaces of its agents and does not know (any more).
 * A workspace that cannot be looked through is logged, and the next sweep tries again.
 */
export async function sweepAttachments(context: ServiceContext): Promise<void> {
  const config = context.config();
  const { stateDir, store, logger } = context;
  const storeId = await store.read((tx) => tx.attachments.storeId());
  const agents = listAgents(config).map(({ id }) => id);
  const workspaces = new Set(agents.map((agentId) => workspaceOf(config, { agentId, stateDir })));
  for (const workspace of workspaces) {
    try {
      await sweepWorkspace(context, { workspace, storeId });
    } catch (err) {
      // a link in place of the folder: there is nothing of ours behind it
      if (err instanceof NoFolderError) continue;
      logger.warn({ err, workspace }, 'the attachments in a workspace could not be looked through');
    }
  }
}

async function sweepWorkspace(
  { store, clock, logger }: ServiceContext,
  { workspace, storeId }: { workspace: string; storeId: string },
): Promise<void> {
  const found = await listFolders(workspace, storeId);
  const old = found.filter(({ changedAt }) => changedAt <= clock.now() - YOUNG_MS);
  for (let at = 0; at < old.length; at += PAGE) {
    const page = old.slice(at, at + PAGE);
    const ids = page.map(({ folderId }) => folderId);
    const present = new Set(await store.read((tx) => tx.attachments.presentAmong(ids)));
    for (const folder of page) {
      if (isNamed(folder, present)) continue;
      await removeMember(workspace, folder.member);
      logger.info({ workspace, folder: folder.member }, 'attachments of no session were removed');
    }
  }
}

/** What is there in part is named by nobody: its spawn has put it in place before its row. */
function isNamed({ member, folderId }: FoundFolder, present: ReadonlySet<string>): boolean {
  return member === folderId && present.has(folderId);
}
