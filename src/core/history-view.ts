/** The bounded view of a transcript that `sessions_history` returns (A8). The store is never changed by it. */
import type { Message } from '../protocol/message.ts';

/** `tools.sessions_history.maxBytes`. */
export const HISTORY_MAX_BYTES = 81_920;

/** A message of which long texts were cut or image data was left out. */
export type TrimmedMessage = { role: Message['role'] } & Record<string, unknown>;
export type HistoryMessage = Message | TrimmedMessage;

export interface HistoryView {
  /** oldest first; unchanged while they fit */
  messages: HistoryMessage[];
  truncated: boolean;
  /** how many of the oldest were left out */
  droppedMessages: number;
  contentTruncated: boolean;
  contentRedacted: false;
  /** size of `messages` as UTF-8 JSON */
  bytes: number;
}

/** How long a text may stay, tried in turn until the newest message fits. */
const TEXT_LIMITS = [4000, 1000, 200];

/**
 * Returns the messages within `maxBytes`: as they are while they fit, else with long texts cut and image
 * data left out, else without the oldest. The newest stays, as a placeholder if nothing else fits.
 */
export function viewHistory(
  messages: readonly Message[],
  maxBytes: number = HISTORY_MAX_BYTES,
): HistoryView {
  const whole = sizeWithin(messages, maxBytes);
  if (whole !== undefined) return toView([...messages], { of: messages, bytes: whole });
  const kept: HistoryMessage[] = [];
  let bytes = '[]'.length;
  for (const message of messages.toReversed()) {
    const isNewest = kept.length === 0;
    const shown = isNewest ? shrink(message, maxBytes) : trim(message, TEXT_LIMITS[0]);
    const size = sizeOf(shown) + (isNewest ? 0 : ','.length);
    if (bytes + size > maxBytes) break;
    bytes += size;
    kept.push(shown);
  }
  return toView(kept.reverse(), { of: messages, bytes });
}

function toView(
  shown: HistoryMessage[],
  from: { of: readonly Message[]; bytes: number },
): HistoryView {
  const droppedMessages = from.of.length - shown.length;
  const contentTruncated = shown.some(
    (message, index) => message !== from.of[index + droppedMessages],
  );
  return {
    messages: shown,
    truncated: droppedMessages > 0 || contentTruncated,
    droppedMessages,
    contentTruncated,
    contentRedacted: false,
    bytes: from.bytes,
  };
}

/** Cuts deeper and deeper until the message fits on its own. */
function shrink(message: Message, maxBytes: number): HistoryMessage {
  for (const limit of TEXT_LIMITS) {
    const shown = trim(message, limit);
    if (sizeOf([shown]) <= maxBytes) return shown;
  }
  const text = `[message left out: ${sizeOf(message)} bytes]`;
  return { role: message.role, content: [{ type: 'text', text }], timestamp: message.timestamp };
}

/** Returns the message itself when nothing in it is long. */
function trim(message: Message, limit = 0): HistoryMessage {
  return trimValue(message, limit) as HistoryMessage;
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
