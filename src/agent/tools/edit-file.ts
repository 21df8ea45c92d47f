import { z } from 'zod';
import type { AgentTool } from '../runtime.ts';
import { defineTool, failure } from './define-tool.ts';
import { openRegularFile } from './read-file.ts';
import { resolveInWorkspace } from './workspace-path.ts';
import { writeInWorkspace } from './write-file.ts';

const MAX_BYTES = 5 * 1024 * 1024;

/** Returns the `edit` tool: one exact replacement in a file, refused unless the place is unmistakable. */
export function createEditTool(): AgentTool {
  return defineTool({
    name: 'edit',
    description: 'Replace one exact passage of a file. oldText must occur exactly once.',
    parameters: { path: z.string(), oldText: z.string().min(1), newText: z.string() },
    repeatable: false,
    async run({ path, oldText, newText }, context) {
      const target = await resolveInWorkspace(context.workspace, path);
      const before = await readWhole(target.real);
      if (before === undefined)
        return failure(`edit: ${target.shown} is not UTF-8 text of up to 5 MB`);
      const at = before.indexOf(oldText);
      if (at < 0) {
        return failure(
          `edit: oldText does not occur in ${target.shown}; read it and copy the passage exactly`,
        );
      }
      if (before.indexOf(oldText, at + 1) >= 0) {
        return failure(
          `edit: oldText occurs more than once in ${target.shown}; take in more lines around it`,
        );
      }
      const content = before.slice(0, at) + newText + before.slice(at + oldText.length);
      await writeInWorkspace(context.workspace, { path: target.real, content });
      return `Edited ${target.shown} at line ${before.slice(0, at).split('\n').length}.`;
    },
  });
}

/** Returns the text, or undefined when writing it back would change bytes that nobody asked to change. */
async function readWhole(real: string): Promise<string | undefined> {
  await using file = await openRegularFile(real);
  if ((await file.stat()).size > MAX_BYTES) return undefined;
  const bytes = await file.readFile();
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : undefined;
}
