import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { transcriptPathOf } from '../sessions/session-row-view.ts';

/** Removes the file of a transcript, with what was kept aside or begun beside it. A missing one is no error. */
export function removeMirror(
  stateDir: string,
  session: { agentId: string; sessionId: string },
): Promise<void> {
  return removeFiles(transcriptPathOf(stateDir, session));
}

/** The same by the path of the file. */
export async function removeFiles(path: string): Promise<void> {
  const folder = dirname(path);
  const name = basename(path);
  const names = await readdir(folder).catch(() => []);
  const own = names.filter((each) => each === name || each.startsWith(`${name}.`));
  for (const each of own) await rm(join(folder, each), { force: true });
}
