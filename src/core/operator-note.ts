/** What an operator puts into a transcript as the agent's words (`chat.inject`): a note that no session sent. */
import type { AssistantMessage } from '../protocol/message.ts';

/** Names the author where a model stands else. */
const AUTHOR = { api: 'chat.inject', provider: 'operator', model: 'chat.inject' } as const;

/** Returns the text of a note, its label in front. */
export function operatorNoteText({
  message,
  label,
}: {
  message: string;
  label?: string | undefined;
}): string {
  return label === undefined ? message : `[${label.trim()}]\n\n${message}`;
}

/** True for a note of the operator; one of a session names its source. */
export function isOperatorNote(input: { kind: string; sourceKey: string | null }): boolean {
  return input.kind === 'note' && input.sourceKey === null;
}

/** Returns the note as it stands in the transcript. */
export function toOperatorNote(text: string, timestamp: number): AssistantMessage {
  return {
    role: 'assistant',
    content: [{ type: 'text', text }],
    ...AUTHOR,
    stopReason: 'stop',
    timestamp,
  };
}
