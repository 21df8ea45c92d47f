/** Reading what is stored. A row that was torn or edited by hand is a value here, never an exception. */
import type { Message } from '../protocol/message.ts';

/** Returns the value of stored JSON, or undefined when it is none. */
function parseStored(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Returns the JSON object that is stored, or undefined when it is none. */
export function parseStoredObject(json: string): Record<string, unknown> | undefined {
  return asObject(parseStored(json));
}

/**
 * Returns the stored message as it is, or undefined when it is none that every reader can rely on.
 * Blocks of a type that is not known are let through: a newer program may have written them.
 */
export function parseStoredMessage(json: string): Message | undefined {
  const message = parseStoredObject(json);
  if (message === undefined) return undefined;
  return isMessage(message) ? (message as unknown as Message) : undefined;
}

function isMessage({ role, content, toolCallId }: Record<string, unknown>): boolean {
  const isBlocks = Array.isArray(content) && content.every(isBlock);
  if (role === 'user') return isBlocks || typeof content === 'string';
  if (role === 'assistant') return isBlocks;
  return role === 'toolResult' && isBlocks && typeof toolCallId === 'string';
}

/** Returns whether a content block has the parts of its type; of a type that is not known here only the type. */
export function isBlock(value: unknown): boolean {
  const block = asObject(value);
  if (block === undefined) return false;
  const isText = (name: string): boolean => typeof block[name] === 'string';
  switch (block['type']) {
    case 'text':
      return isText('text');
    case 'thinking':
      return isText('thinking');
    case 'image':
      return isText('data') && isText('mimeType');
    case 'toolCall':
      return isText('id') && isText('name') && asObject(block['arguments']) !== undefined;
    default:
      return isText('type');
  }
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as Record<string, unknown>;
}
