/**
 * What of a call of `sessions_spawn` may be kept (B7.8): in transcripts, contexts, events and hashes an
 * attachment is its name, its size and its sha256. Whatever a model wrote, nothing of a content is left.
 */
import type { AssistantMessage, ToolCallBlock } from '../protocol/message.ts';
import { bytesOf, sha256Of } from './attachments.ts';

/** Stands for what was given as an attachment and is none. */
const REDACTED = '[redacted]';
const MAX_KEPT_CHARACTERS = 255;

/** Returns the message without the contents of attachments; the same one where there are none. */
export function withoutAttachmentContents(message: AssistantMessage): AssistantMessage {
  if (!message.content.some(holdsAttachments)) return message;
  const content = message.content.map((block) =>
    holdsAttachments(block) ? { ...block, arguments: redactSpawnArgs(block.arguments) } : block,
  );
  return { ...message, content };
}

/** Returns attachments as they are kept, whatever was given as such. */
export function redactAttachments(given: unknown): unknown {
  if (given === undefined || given === null) return given;
  return Array.isArray(given) ? given.map(redactItem) : REDACTED;
}

function holdsAttachments(block: AssistantMessage['content'][number]): block is ToolCallBlock {
  if (block.type !== 'toolCall' || block.name.trim().toLowerCase() !== 'sessions_spawn')
    return false;
  return Object.keys(block.arguments).some((name) => isAttachments(name) || name === 'invalidJson');
}

/** A model may spell the name in its own way; the call is refused, and its content is a content all the same. */
function isAttachments(name: string): boolean {
  return /^attach/i.test(name) && name !== 'attachAs';
}

function redactSpawnArgs(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => {
      if (isAttachments(name)) return [name, redactAttachments(value)];
      // a parser quotes the place where it gave up
      if (name === 'invalidJson' && typeof value === 'string') {
        return [name, value.replace(/".*"/s, '"…"')];
      }
      return [name, value];
    }),
  );
}

function redactItem(item: unknown): unknown {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return REDACTED;
  const { name, content, encoding, mimeType } = item as Record<string, unknown>;
  return {
    ...shortText('name', name),
    ...(typeof content === 'string' ? sizeAndHash(content, encoding) : {}),
    ...shortText('mimeType', mimeType),
  };
}

function sizeAndHash(content: string, encoding: unknown): { bytes: number; sha256: string } {
  const bytes = bytesOf(content, encoding === 'base64' ? 'base64' : 'utf8');
  return { bytes: bytes.length, sha256: sha256Of(bytes) };
}

function shortText(member: string, value: unknown): Record<string, string> {
  if (typeof value !== 'string') return {};
  return { [member]: value.length > MAX_KEPT_CHARACTERS ? REDACTED : value };
}
