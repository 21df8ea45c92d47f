import { randomUUID } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../util/make-folder.ts';
import type { AgentTool } from '../runtime.ts';
import { defineTool } from './define-tool.ts';
import { PathRefusal } from './path-refusal.ts';
import { resolveInWorkspace } from './workspace-path.ts';

/** Returns the `write` tool: a whole file of the workspace, made or replaced in one step. */
export function createWriteTool(): AgentTool {
  return defineTool({
    name: 'write',
    description: 'Write a whole file of the workspace; folders are made as needed.',
    parameters: { path: z.string(), content: z.string() },
    repeatable: false,
    async run({ path, content }, context) {
      const shown = await writeInWorkspace(context.workspace, { path, content });
      return `Wrote ${Buffer.byteLength(content)} bytes to ${shown}.`;
    },
  });
}

/**
 * Replaces or makes a file and returns its path for texts. A reader sees the old content or the new one,
 * and another name of the same file elsewhere (a hard link) keeps the old.
 */
export async function writeInWorkspace(
  workspace: string,
  { path, content }: { path: string; content: string },
): Promise<string> {
  const target = await resolveInWorkspace(workspace, path);
  const mode = target.exists ? await modeOfFile(target.real) : undefined;
  makeFolder(dirname(target.real));
  // Looked at again: the folder may have been swapped for a link, or made by somebody else, meanwhile.
  const folder = await resolveInWorkspace(workspace, dirname(target.real));
  if (folder.real !== dirname(target.real))
    throw new PathRefusal('the folder changed meanwhile; try again');
  const draft = join(folder.real, `.${randomUUID()}.tmp`);
  try {
    const file = await open(draft, 'wx', mode);
    try {
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    await rename(draft, target.real);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return target.shown;
}

async function modeOfFile(real: string): Promise<number> {
  const existing = await stat(real);
  if (existing.isDirectory()) throw new PathRefusal('this is a folder, not a file');
  if (!existing.isFile()) throw new PathRefusal('not a regular file');
  return existing.mode & 0o777;
}
