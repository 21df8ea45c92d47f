/** Whether a stored message has the documented shape (B11.2), so that every reader can rely on it. */
import { isBlock } from '../../core/stored-message.ts';
import { asRecord } from './source-files.ts';

export type MessageRole = 'user' | 'assistant' | 'toolResult';

/** Returns the role of a well-formed message, or what is wrong with it. */
export function checkMessage(
  value: unknown,
): { ok: true; role: MessageRole } | { ok: false; reason: string } {
  const message = asRecord(value);
  if (message === undefined) return { ok: false, reason: 'message is not an object' };
  const { role, content } = message;
  if (role === 'user') {
    if (typeof content === 'string' || isBlocks(content, ['text', 'image']))
      return { ok: true, role };
    return { ok: false, reason: 'content of a user message is not text or blocks' };
  }
  if (role === 'assistant') {
    if (isBlocks(content, ['text', 'thinking', 'toolCall'])) return { ok: true, role };
    return { ok: false, reason: 'content of an assistant message is not blocks' };
  }
  if (role === 'toolResult') {
    if (typeof message['toolCallId'] === 'string' && isBlocks(content, ['text', 'image'])) {
      return { ok: true, role };
    }
    return { ok: false, reason: 'tool result without toolCallId or blocks' };
  }
  return { ok: false, reason: 'message of a role that has no counterpart' };
}

type BlockType = 'text' | 'image' | 'thinking' | 'toolCall';

function isBlocks(content: unknown, types: readonly BlockType[]): boolean {
  return (
    Array.isArray(content) &&
    content.every(
      (item) => types.some((type) => type === asRecord(item)?.['type']) && isBlock(item),
    )
  );
}
