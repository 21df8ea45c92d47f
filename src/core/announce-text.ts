/** The text that tells a requester how its child ended: Status, Result, Notes and one stats line (B7.7, A18). */
import type { AnnounceStatus } from '../protocol/words.ts';
import { visibleText } from './silence.ts';

export interface AnnounceInput {
  /** from the runtime; what the model says about it is replaced */
  status: AnnounceStatus;
  /** the announce turn's reply; absent in mode `template` and for runs without an announce turn */
  announceReply?: string | undefined;
  /** the child's last assistant text, `""` when it ended without one */
  finalReply: string;
  /** text of the newest tool result of the child */
  newestToolResult?: string | undefined;
  /** what the gateway adds: the error, who stopped it */
  notes?: readonly string[] | undefined;
  stats: AnnounceStats;
}

export interface AnnounceStats {
  runtimeMs: number | undefined;
  /** undefined = the model reported no usage */
  tokens: { input: number; output: number; total: number } | undefined;
  /** US dollars; undefined = unpriced */
  costUsd: number | undefined;
  sessionKey: string;
  sessionId: string;
  transcriptPath: string | undefined;
}

const NOT_AVAILABLE = '(not available)';
const NO_TEXT_NOTE = 'The run ended without assistant text.';

/** Returns the whole announce text. */
export function announceText(input: AnnounceInput): string {
  const { status, result, notes } = announceParts(input);
  const lines = [`Status: ${status}`, `Result: ${result}`];
  if (notes !== '') lines.push(`Notes: ${notes}`);
  return `${lines.join('\n')}\n\n${statsLine(input.stats)}`;
}

/** Returns the three parts; headings that the model wrote itself are taken apart, never doubled. */
export function announceParts(input: AnnounceInput): {
  status: AnnounceStatus;
  result: string;
  notes: string;
} {
  const final = visibleText(input.finalReply).text;
  const announced = visibleText(input.announceReply ?? '').text;
  const own = [...(input.notes ?? [])];
  if (final.trim() === '') {
    const tool = readSections(visibleText(input.newestToolResult ?? '').text);
    const said = readSections(announced);
    return {
      status: input.status,
      result: tool.result || NOT_AVAILABLE,
      notes: joinNotes([said.result, said.notes, tool.notes, ...own, NO_TEXT_NOTE]),
    };
  }
  const said = readSections(announced);
  const fallback = readSections(final);
  return {
    status: input.status,
    result: said.result || fallback.result || NOT_AVAILABLE,
    notes: joinNotes([said.notes || (announced === '' ? fallback.notes : ''), ...own]),
  };
}

function joinNotes(notes: readonly string[]): string {
  return notes
    .map((note) => note.trim())
    .filter((note) => note !== '')
    .join('\n');
}

const HEADING =
  /^[ \t]*(?:#{1,6}[ \t]*)?[*_]{0,3}(Status|STATUS|Result|RESULT|Notes|NOTES|Stats)[*_]{0,3}:[*_]{0,3}[ \t]*(.*)$/;

/** Sorts the lines of a text under its own headings; a Status or Stats line is the gateway's to write and goes. */
function readSections(text: string): { result: string; notes: string } {
  const sections: Record<'result' | 'notes', string[]> = { result: [], notes: [] };
  let current: 'result' | 'notes' = 'result';
  let fence: string | undefined;
  for (const line of text.split('\n')) {
    const mark = /^[ \t]*(```|~~~)/.exec(line)?.[1];
    if (mark !== undefined) fence = fence === undefined ? mark : fence === mark ? undefined : fence;
    const heading = fence === undefined ? HEADING.exec(line) : null;
    const name = heading?.[1]?.toLowerCase();
    if (name === 'status' || name === 'stats') continue;
    if (name === 'result' || name === 'notes') current = name;
    sections[current].push(heading ? (heading[2] ?? '') : line);
  }
  return { result: sections.result.join('\n').trim(), notes: sections.notes.join('\n').trim() };
}

/** Returns the stats line; what is unknown is `n/a`, what is unpriced or unkept is left out. */
export function statsLine(stats: AnnounceStats): string {
  const { tokens } = stats;
  const parts = [
    `runtime ${stats.runtimeMs === undefined ? 'n/a' : formatRuntime(stats.runtimeMs)}`,
    tokens === undefined
      ? 'tokens n/a'
      : `tokens ${tokens.total} (in ${tokens.input} / out ${tokens.output})`,
  ];
  if (tokens !== undefined && stats.costUsd !== undefined) {
    parts.push(`est ${formatCost(stats.costUsd)}`);
  }
  parts.push(`sessionKey ${stats.sessionKey}`, `sessionId ${stats.sessionId}`);
  if (stats.transcriptPath !== undefined) parts.push(`transcript ${stats.transcriptPath}`);
  return `Stats: ${parts.join(' • ')}`;
}

/** Returns a duration such as `5m12s`. */
export function formatRuntime(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours > 0) return `${hours}h${minutes}m${seconds % 60}s`;
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}

function formatCost(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
}
