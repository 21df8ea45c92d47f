/** The folders of attachments in a workspace: `.openclaw/attachments/<folderId>/`, with a manifest (A17). */
import { MANIFEST_NAME } from '../../core/attachment-names.ts';
import { type Attachment, factsOf } from '../../core/attachments.ts';
import { AnchoredFolder } from '../../util/anchored-folder.ts';
import { codeOf } from '../../util/error-code.ts';
import { makeFolder } from '../../util/make-folder.ts';

const OPENCLAW = '.openclaw';
const ATTACHMENTS = 'attachments';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MAX_MANIFEST_BYTES = 16 * 1024 * 1024;
/** Another spawn may take the empty folders away that one is about to write into. */
const TRIES = 5;

/** A folder to be written. */
export interface NewFolder {
  folderId: string;
  files: readonly Attachment[];
  /** names the store that the folder belongs to */
  storeId: string;
  createdAt: number;
}

/** Returns the folder as the child calls it, relative to its workspace. */
export function relDirOf(folderId: string): string {
  return `${OPENCLAW}/${ATTACHMENTS}/${folderId}`;
}

/**
 * Writes the files aside, to the disk, and puts the folder in place in one step. Throws, and leaves nothing
 * in place, when one of the folders above it is a link or no folder, or when the disk refuses.
 */
export async function writeFolder(workspace: string, given: NewFolder): Promise<void> {
  makeFolder(workspace, { mode: 0o700 });
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      return await inWorkspace(workspace, (root) => writeIn(root, given));
    } catch (error) {
      if (left === 0 || codeOf(error) !== 'ENOENT') throw error;
    }
  }
}

/** Removes a folder that was written, never what a link in its place leads to. A missing one is no error. */
export function removeFolder(workspace: string, folderId: string): Promise<void> {
  return removeMember(workspace, folderId);
}

/** The same by the name that it was found under. */
export async function removeMember(workspace: string, member: string): Promise<void> {
  await inAttachments(workspace, async (attachments) => {
    await attachments.remove(member);
    await attachments.sync();
  });
}

/** The same for a folder that nobody was told of; the folders above it go with it when nothing else is in them. */
export async function discardFolder(workspace: string, folderId: string): Promise<void> {
  await removeFolder(workspace, folderId);
  await inWorkspace(workspace, removeEmptyParents);
}

/** A folder that this store wrote, whole or in part. */
export interface FoundFolder {
  /** name of the member of `.openclaw/attachments`; for one in part it differs from its id */
  member: string;
  folderId: string;
  changedAt: number;
}

/** Returns the folders in a workspace that the store has written. Others are left out, whatever they are called. */
export async function listFolders(workspace: string, storeId: string): Promise<FoundFolder[]> {
  const found: FoundFolder[] = [];
  await inAttachments(workspace, async (attachments) => {
    for (const member of await attachments.names()) {
      const folderId = folderIdOf(member);
      const changedAt =
        folderId === undefined ? undefined : await whenWritten(attachments, { member, storeId });
      if (folderId === undefined || changedAt === undefined) continue;
      found.push({ member, folderId, changedAt });
    }
  });
  return found;
}

async function writeIn(root: AnchoredFolder, given: NewFolder): Promise<void> {
  await inFolderOf(root, OPENCLAW, async (openclaw) => {
    await inFolderOf(openclaw, ATTACHMENTS, (attachments) => placeFolder(attachments, given));
  });
}

async function placeFolder(attachments: AnchoredFolder, given: NewFolder): Promise<void> {
  const partial = partialOf(given.folderId);
  try {
    await inFolderOf(attachments, partial, (folder) => fillFolder(folder, given));
    await attachments.rename(partial, given.folderId);
    await attachments.sync();
  } catch (error) {
    await attachments.remove(partial).catch(() => {
      // the disk refuses this as well; a sweep removes it
    });
    throw error;
  }
}

/** The manifest comes first: what is there in part can be told from what others put there. */
async function fillFolder(folder: AnchoredFolder, given: NewFolder): Promise<void> {
  const { folderId, files, storeId, createdAt } = given;
  const manifest = { version: 1, store: storeId, relDir: relDirOf(folderId), createdAt };
  const facts = files.map(factsOf);
  await folder.writeFile(
    MANIFEST_NAME,
    `${JSON.stringify({ ...manifest, files: facts }, null, 2)}\n`,
  );
  for (const { name, content } of files) await folder.writeFile(name, content);
  await folder.sync();
}

/** Works in a folder, made when it is not there; one that was made for nothing is removed again. */
async function inFolderOf(
  parent: AnchoredFolder,
  name: string,
  use: (folder: AnchoredFolder) => Promise<void>,
): Promise<void> {
  const { folder, made } = await parent.makeFolder(name);
  try {
    await folder.use(use);
    if (made) await parent.sync();
  } catch (error) {
    if (made) await parent.removeEmpty(name);
    throw error;
  }
}

async function removeEmptyParents(root: AnchoredFolder): Promise<void> {
  const openclaw = await root.folder(OPENCLAW);
  await openclaw?.use((folder) => folder.removeEmpty(ATTACHMENTS));
  await root.removeEmpty(OPENCLAW);
}

/** Undefined for what is not ours. */
async function whenWritten(
  attachments: AnchoredFolder,
  { member, storeId }: { member: string; storeId: string },
): Promise<number | undefined> {
  const folder = await attachments.folder(member).catch(() => undefined);
  return folder?.use(async () => {
    const store = storeOf(await folder.readText(MANIFEST_NAME, MAX_MANIFEST_BYTES));
    const isOurs = store === undefined ? await isBarelyBegun(folder, member) : store === storeId;
    return isOurs ? folder.changedAt() : undefined;
  });
}

/** True for one in part whose process was killed before the manifest, which comes first, was whole. */
async function isBarelyBegun(folder: AnchoredFolder, member: string): Promise<boolean> {
  if (!member.startsWith('.')) return false;
  return (await folder.names()).every((name) => name === MANIFEST_NAME);
}

function storeOf(manifest: string | undefined): unknown {
  try {
    return (JSON.parse(manifest ?? 'null') as { store?: unknown } | null)?.store;
  } catch {
    return undefined;
  }
}

function partialOf(folderId: string): string {
  return `.${folderId}.partial`;
}

function folderIdOf(member: string): string | undefined {
  const id = /^\.(?<id>.*)\.partial$/.exec(member)?.groups?.['id'] ?? member;
  return UUID.test(id) ? id : undefined;
}

/** Does nothing where there are no attachments; throws `NoFolderError` when something else is in their place. */
async function inAttachments(
  workspace: string,
  use: (attachments: AnchoredFolder) => Promise<void>,
): Promise<void> {
  await inWorkspace(workspace, async (root) => {
    const openclaw = await root.folder(OPENCLAW);
    const attachments = await openclaw?.use((folder) => folder.folder(ATTACHMENTS));
    await attachments?.use(use);
  });
}

async function inWorkspace(
  workspace: string,
  use: (root: AnchoredFolder) => Promise<void>,
): Promise<void> {
  const root = await AnchoredFolder.open(workspace);
  await root?.use(use);
}
