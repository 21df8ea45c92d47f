import { asText, isRecord } from './json-value.ts';
import { oneLine, printable } from './printable.ts';

const MAX_TOOL_TEXT = 200;

/**
 * Returns a message of a transcript as lines for a person: who, when, the text, and one line per
 * tool call. It takes whatever a gateway sends: a bounded history may hold placeholders.
 */
export function formatMessage(message: Record<string, unknown>): string[] {
  const role = asText(message['role']);
  const at = message['timestamp'];
  const time = typeof at === 'number' ? new Date(at).toISOString().slice(0, 19) : '';
  const speaker = [role, fromOf(message), asText(message['toolName'])].filter(Boolean);
  const head = `${time} ${speaker.join(' ')}`.trim();
  const lines = blocksOf(message['content']).flatMap((block) => formatBlock(block, role));
  if (typeof message['errorMessage'] === 'string') {
    lines.push(`error: ${printable(message['errorMessage'])}`);
  }
  return [head, ...lines.map((line) => `  ${line}`)];
}

function fromOf(message: Record<string, unknown>): string {
  const provenance = message['provenance'];
  return isRecord(provenance) ? `from ${asText(provenance['sourceSessionKey'])}` : '';
}

function blocksOf(content: unknown): Record<string, unknown>[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

function formatBlock(block: Record<string, unknown>, role: string): string[] {
  switch (block['type']) {
    case 'text': {
      const text = asText(block['text']);
      if (role === 'toolResult') return [oneLine(text, MAX_TOOL_TEXT)];
      return printable(text).split('\n');
    }
    case 'toolCall': {
      const args = JSON.stringify(block['arguments'] ?? {});
      return [`→ ${asText(block['name'])} ${oneLine(args, MAX_TOOL_TEXT)}`];
    }
    case 'image':
      return ['(image)'];
    case 'thinking':
      return [`(thinking) ${oneLine(asText(block['thinking']), MAX_TOOL_TEXT)}`];
    default:
      return [];
  }
}
