import { constants, type ReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import type { AgentTool } from '../runtime.ts';
import { defineTool, failure } from './define-tool.ts';
import { PathRefusal } from './path-refusal.ts';
import { resolveInWorkspace } from './workspace-path.ts';

const DEFAULT_LINES = 2_000;
const MAX_BYTES = 50 * 1024;

/** Returns the `read` tool: lines of a text file of the workspace, unchanged, within a byte limit. */
export function createReadTool(): AgentTool {
  return defineTool({
    name: 'read',
    description: `Read a text file of the workspace. Up to ${DEFAULT_LINES} lines or 50 KB; go on with offset.`,
    parameters: {
      path: z.string(),
      offset: z.int().min(1).optional().describe('first line, from 1'),
      limit: z.int().min(1).optional().describe('number of lines'),
    },
    repeatable: true,
    async run({ path, offset = 1, limit = DEFAULT_LINES }, context) {
      const target = await resolveInWorkspace(context.workspace, path);
      await using file = await openRegularFile(target.real);
      if (await isBinary(file))
        return failure(`read: ${target.shown} is not text; use exec to look into it`);
      const stream = file.createReadStream({ encoding: 'utf8', autoClose: false, start: 0 });
      const part = await readLines(stream, { offset, limit });
      return part.text === '' && part.lines < offset && offset > 1
        ? failure(
            `read: ${target.shown} has ${part.lines} lines; offset ${offset} is behind its end`,
          )
        : part.text + trailer(part);
    },
  });
}

/** Opens without following a link put there meanwhile, and without waiting on a pipe. */
export async function openRegularFile(real: string): Promise<FileHandle> {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const file = await open(real, flags);
  const stat = await file.stat();
  if (stat.isFile()) return file;
  await file.close();
  throw new PathRefusal(
    stat.isDirectory() ? 'this is a folder; list it with exec: ls' : 'not a regular file',
  );
}

async function isBinary(file: FileHandle): Promise<boolean> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(8_192), 0, 8_192, 0);
  return buffer.subarray(0, bytesRead).includes(0);
}

interface Part {
  text: string;
  /** lines seen so far; all of the file when nothing follows */
  lines: number;
  /** line to go on with, when more follows */
  nextOffset?: number;
  /** the only line is longer than the limit, and was cut */
  isCut?: boolean;
}

async function readLines(
  stream: ReadStream,
  { offset, limit }: { offset: number; limit: number },
): Promise<Part> {
  let text = '';
  let bytes = 0;
  let line = 1;
  let isAtLineStart = true;
  for await (const chunk of stream as AsyncIterable<string>) {
    for (let start = 0; start < chunk.length;) {
      if (line >= offset + limit) return { text, lines: line, nextOffset: line };
      const newline = chunk.indexOf('\n', start);
      const end = newline < 0 ? chunk.length : newline + 1;
      const piece = chunk.slice(start, end);
      if (line >= offset) {
        const size = Buffer.byteLength(piece);
        if (bytes + size > MAX_BYTES) return cutAtLimit({ text, bytes, line, piece });
        text += piece;
        bytes += size;
      }
      isAtLineStart = newline >= 0;
      if (isAtLineStart) line += 1;
      start = end;
    }
  }
  return { text, lines: isAtLineStart ? line - 1 : line };
}

/** Ends with the last whole line, or within the line when it alone is too long. */
function cutAtLimit(at: { text: string; bytes: number; line: number; piece: string }): Part {
  const wholeLines = at.text.slice(0, at.text.lastIndexOf('\n') + 1);
  if (wholeLines !== '') return { text: wholeLines, lines: at.line, nextOffset: at.line };
  const room = Buffer.from(at.piece)
    .subarray(0, MAX_BYTES - at.bytes)
    .toString();
  return { text: at.text + room, lines: at.line, isCut: true, nextOffset: at.line + 1 };
}

function trailer(part: Part): string {
  if (part.isCut) {
    return `\n[line ${part.lines} is longer than 50 KB and was cut; use exec to see the rest]`;
  }
  if (part.nextOffset !== undefined) return `[more follows; go on with offset ${part.nextOffset}]`;
  return part.text === '' ? '[the file is empty]' : '';
}
