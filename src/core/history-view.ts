/** The bounded view of a transcript that `sessions_history` returns (A8). The store is never changed by it. */
import type { Message } from '../protocol/message.ts';
import { maskBeginning, maskValue } from './mask-secrets.ts';

/** `tools.sessions_history.maxBytes`. */
export const HISTORY_MAX_BYTES = 81_920;

/** A message of which long texts were cut, image data left out or credentials masked. */
export type TrimmedMessage = { role: Message['role'] } & Record<string, unknown>;
export type HistoryMessage = Message | TrimmedMessage;

export interface HistoryView {
  /** oldest first; unchanged while they fit */
  messages: HistoryMessage[];
  truncated: boolean;
  /** how many of the oldest were left out */
  droppedMessages: number;
  contentTruncated: boolean;
  /** credentials were masked */
  contentRedacted: boolean;
  /** size of `messages` as UTF-8 JSON */
  bytes: number;
}

export interface HistoryBounds {
  maxBytes?: number;
  /** the reader is not shown credentials */
  isMasked?: boolean;
}

/** How long a text may stay, tried in turn until the newest message fits. */
const LONGEST_TEXT = 4000;
const TEXT_LIMITS = [LONGEST_TEXT, 1000, 200];

/**
 * Returns the messages within `maxBytes`: as they are while they fit, else with long texts cut and image
 * data left out, else without the oldest. The newest stays, as a placeholder if nothing else fits.
 */
export function viewHistory(
  messages: readonly Message[],
  { maxBytes = HISTORY_MAX_BYTES, isMasked = false }: HistoryBounds = {},
): HistoryView {
  const whole = sizeWithin(messages, maxBytes);
  if (whole !== undefined) {
    const shown = isMasked ? messages.map((message) => maskValue(message) as Message) : messages;
    const contentRedacted = shown.some((message, index) => message !== messages[index]);
    const bytes = contentRedacted ? sizeWithin(shown, maxBytes) : whole;
    if (bytes !== undefined) {
      const cut = { droppedMessages: 0, contentTruncated: false };
      return toView([...shown], { bytes, ...cut, contentRedacted });
    }
  }
  return trimHistory(messages, { maxBytes, isMasked });
}

function trimHistory(
  messages: readonly Message[],
  { maxBytes, isMasked }: Required<HistoryBounds>,
): HistoryView {
  const kept: Trimmed[] = [];
  let bytes = '[]'.length;
  for (const message of messages.toReversed()) {
    const isNewest = kept.length === 0;
    const trimmed = isNewest
      ? shrink(message, { maxBytes, isMasked })
      : trim(message, { limit: LONGEST_TEXT, isMasked });
    const size = sizeOf(trimmed.message) + (isNewest ? 0 : ','.length);
    if (bytes + size > maxBytes) break;
    bytes += size;
    kept.push(trimmed);
  }
  kept.reverse();
  return toView(
    kept.map(({ message }) => message),
    {
      bytes,
      droppedMessages: messages.length - kept.length,
      contentTruncated: kept.some(({ contentTruncated }) => contentTruncated),
      contentRedacted: kept.some(({ contentRedacted }) => contentRedacted),
    },
  );
}

function toView(
  messages: HistoryMessage[],
  flags: Omit<HistoryView, 'messages' | 'truncated'>,
): HistoryView {
  const truncated = flags.droppedMessages > 0 || flags.contentTruncated;
  return { messages, truncated, ...flags };
}

/** A message as it is shown, and what was done to it. */
interface Trimmed {
  message: HistoryMessage;
  contentTruncated: boolean;
  contentRedacted: boolean;
}

/** Cuts deeper and deeper until the message fits on its own. */
function shrink(message: Message, bounds: Required<HistoryBounds>): Trimmed {
  const { maxBytes, isMasked } = bounds;
  for (const limit of TEXT_LIMITS) {
    const trimmed = trim(message, { limit, isMasked });
    if (sizeOf([trimmed.message]) <= maxBytes) return trimmed;
  }
  const text = `[message left out: ${sizeOf(message)} bytes]`;
  const { role, timestamp } = message;
  return {
    message: { role, content: [{ type: 'text', text }], timestamp },
    contentTruncated: true,
    contentRedacted: false,
  };
}

/** Keeps the message itself when nothing in it is long or masked. */
function trim(
  message: Message,
  { limit, isMasked }: { limit: number; isMasked: boolean },
): Trimmed {
  const masked = isMasked ? maskValue(message, (text) => maskBeginning(text, limit)) : message;
  const trimmed = trimValue(masked, limit);
  return {
    message: trimmed as HistoryMessage,
    contentTruncated: trimmed !== masked,
    contentRedacted: masked !== message,
  };
}

function trimValue(value: unknown, limit: number): unknown {
  if (typeof value === 'string') return cutText(value, limit);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => trimValue(item, limit));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const record = value as Record<string, unknown>;
  if (record['type'] === 'image' && typeof record['data'] === 'string') return omitImage(record);
  const entries = Object.entries(record).map(
    ([name, item]) => [name, trimValue(item, limit)] as const,
  );
  return entries.some(([name, item]) => item !== record[name])
    ? Object.fromEntries(entries)
    : value;
}

function omitImage({ data, mimeType }: Record<string, unknown>): Record<string, unknown> {
  const bytes = Buffer.byteLength(String(data), 'base64');
  return { type: 'image', omitted: true, bytes, ...(mimeType === undefined ? {} : { mimeType }) };
}

/** Cuts between characters, not inside a surrogate pair, and says how much is gone. */
function cutText(text: string, limit: number): string {
  const marker = (kept: number): string =>
    `… [cut: ${text.length - kept} of ${text.length} characters]`;
  if (text.length <= limit + marker(limit).length) return text;
  const last = text.charCodeAt(limit - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit;
  return text.slice(0, end) + marker(end);
}

/** Returns the size of the list, or undefined when it is over `maxBytes`; what is far over is never written out. */
function sizeWithin(messages: readonly Message[], maxBytes: number): number | undefined {
  let bytes = '[]'.length + Math.max(0, messages.length - 1);
  for (const message of messages.toReversed()) {
    if (bytes + leastSizeOf(message) > maxBytes) return undefined;
    bytes += sizeOf(message);
  }
  return bytes <= maxBytes ? bytes : undefined;
}

/** A lower bound of the size, without a pass over the texts. */
function leastSizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + '""'.length;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + leastSizeOf(item), 2);
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
