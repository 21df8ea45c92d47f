/**
 * The older transcript form: one JSON value a line, a header and then a tree by `id` and `parentId`.
 * What counts is the way from the last entry back to the root.
 */
import { checkMessage } from './check-message.ts';
import type { MessageRole } from './check-message.ts';
import { asRecord } from './source-files.ts';

export interface TranscriptEntry {
  entryId: string;
  type: string;
  role: MessageRole | null;
  /** for `message` the message, else the whole entry */
  json: string;
  createdAt: number;
}
export interface Transcript {
  /** oldest first */
  entries: TranscriptEntry[];
  startedAt: number | undefined;
  /** entries of abandoned branches */
  offPath: number;
  problems: { line: number; text: string }[];
}

interface Node extends TranscriptEntry {
  parent: number;
  firstKeptEntryId: string | undefined;
}

/** Returns the active path. A line that cannot be read is a problem, never the end of the import. */
export function parseTranscript(
  lines: Iterable<{ line: number; text: string; isTorn: boolean }>,
): Transcript {
  const nodes: Node[] = [];
  const indexOfId = new Map<string, number>();
  const problems: Transcript['problems'] = [];
  let startedAt: number | undefined;
  for (const { line, text, isTorn } of lines) {
    if (text.trim() === '') continue;
    const value = readLine(text);
    if (value === undefined) {
      problems.push({ line, text: isTorn ? 'torn last line skipped' : 'unreadable line skipped' });
      continue;
    }
    if (value['type'] === 'session') {
      startedAt ??= timeOf(value['timestamp']);
      continue;
    }
    const node = toNode(value, {
      line,
      problems,
      createdAt: nodes.at(-1)?.createdAt ?? startedAt ?? 0,
    });
    if (node === undefined) continue;
    const last = nodes.length - 1;
    const parentId = value['parentId'];
    // Parents stand above their children, so no chain can run in a circle.
    const parent = typeof parentId === 'string' ? indexOfId.get(parentId) : undefined;
    if (typeof parentId === 'string' && parent === undefined) {
      problems.push({ line, text: 'its parent is missing; joined to the entry before it' });
    }
    const isRoot = parentId === null || (parentId === undefined && last < 0);
    indexOfId.set(node.entryId, nodes.length);
    nodes.push({ ...node, parent: isRoot ? -1 : (parent ?? last) });
  }
  const path = walkToRoot(nodes);
  return {
    entries: placeCompactions(path).map(toEntry),
    startedAt,
    offPath: nodes.length - path.length,
    problems,
  };
}

function readLine(text: string): Record<string, unknown> | undefined {
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function toNode(
  value: Record<string, unknown>,
  context: { line: number; problems: Transcript['problems']; createdAt: number },
): Omit<Node, 'parent'> | undefined {
  const { type, id } = value;
  const skip = (text: string): undefined => {
    context.problems.push({ line: context.line, text });
    return undefined;
  };
  if (typeof type !== 'string' || type === '') return skip('entry without a type skipped');
  const entryId = typeof id === 'string' && id !== '' ? id : `line-${context.line}`;
  const message = asRecord(value['message']);
  const createdAt =
    timeOf(value['timestamp']) ?? timeOf(message?.['timestamp']) ?? context.createdAt;
  const kept = value['firstKeptEntryId'];
  const firstKeptEntryId = type === 'compaction' && typeof kept === 'string' ? kept : undefined;
  try {
    if (type !== 'message') {
      const json = JSON.stringify(value);
      return { entryId, type, role: null, json, createdAt, firstKeptEntryId };
    }
    const checked = checkMessage(value['message']);
    if (checked.ok) {
      const json = JSON.stringify(message);
      return { entryId, type, role: checked.role, json, createdAt, firstKeptEntryId };
    }
    context.problems.push({ line: context.line, text: `${checked.reason}; kept aside` });
    const json = JSON.stringify(value);
    return { entryId, type: 'unreadable_message', role: null, json, createdAt, firstKeptEntryId };
  } catch {
    return skip('entry nested too deeply skipped');
  }
}

function walkToRoot(nodes: readonly Node[]): Node[] {
  const path: Node[] = [];
  for (let at = nodes.length - 1; at >= 0;) {
    const node = nodes[at];
    if (node === undefined) break;
    path.push(node);
    at = node.parent;
  }
  return path.reverse();
}

/**
 * Moves each compaction to where it takes effect. The older form writes it behind the entries that it
 * keeps and names the first of them; readers of ours begin at the compaction.
 */
function placeCompactions(path: readonly Node[]): Node[] {
  const positions = new Map(path.map((node, at) => [node.entryId, at]));
  let floor = 0;
  const placed = path.map((node, at) => {
    if (node.firstKeptEntryId === undefined) return { node, at };
    const kept = positions.get(node.firstKeptEntryId);
    // Never in front of an earlier compaction: the newest is the one that counts.
    floor = Math.max(floor, kept === undefined || kept > at ? at : kept - 0.5);
    return { node, at: floor };
  });
  return placed.sort((a, b) => a.at - b.at).map(({ node }) => node);
}

function toEntry({ entryId, type, role, json, createdAt }: Node): TranscriptEntry {
  return { entryId, type, role, json, createdAt };
}

/** Accepts an ISO text or epoch milliseconds. */
function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : value;
  return typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 ? time : undefined;
}
