/** One message in few words, for lists of sessions (`sessions.preview`). */
import type { PreviewItem } from '../protocol/answers/session-answers.ts';
import type { Message } from '../protocol/message.ts';
import { textOf, toolCallsOf } from '../protocol/message.ts';

/** Returns the message in one line of at most `maxChars`; one without text says what it is instead, so that each has its item. */
export function toPreviewItem(message: Message, maxChars: number): PreviewItem {
  const { role } = message;
  const text = oneLine(textOf(message), maxChars);
  if (role === 'toolResult')
    return { role: 'tool', text: text || oneLine(`result of ${message.toolName}`, maxChars) };
  if (text !== '') return { role, text };
  const calls = role === 'assistant' ? toolCallsOf(message) : [];
  if (calls.length === 0) return { role, text: role === 'user' ? '(image)' : '(no text)' };
  const names = [...new Set(calls.map(({ name }) => name))].join(', ');
  return { role: 'tool', text: oneLine(`calls ${names}`, maxChars) };
}

/** A long text is cut first, so that the work does not grow with what is not shown. */
function oneLine(text: string, maxChars: number): string {
  const head = text.trimStart().slice(0, 4 * maxChars);
  const line = head.replaceAll(/\s+/g, ' ').trimEnd();
  const isWhole = head.length === text.trimStart().length && line.length <= maxChars;
  return isWhole ? line : `${line.slice(0, maxChars - 1).toWellFormed()}…`;
}
