import { isRecord } from './json-value.ts';
import { printable } from './printable.ts';

/**
 * Returns JSON for a reader: what fits on a line stands on one, the rest is broken up and
 * indented. It parses back to the same value.
 */
export function formatJson(value: unknown, options: { width: number; indent?: string }): string {
  const indent = options.indent ?? '';
  const line = toLine(value);
  if (indent.length + line.length <= options.width) return line;
  const inner = `${indent}  `;
  const below = { ...options, indent: inner };
  if (Array.isArray(value)) {
    const items = value.map((item) => inner + formatJson(item, below));
    return `[\n${items.join(',\n')}\n${indent}]`;
  }
  if (isRecord(value)) {
    const entries = entriesOf(value).map(
      ([key, item]) => `${inner}${toLine(key)}: ${formatJson(item, below)}`,
    );
    return `{\n${entries.join(',\n')}\n${indent}}`;
  }
  return line;
}

function toLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toLine).join(', ')}]`;
  if (isRecord(value)) {
    const entries = entriesOf(value).map(([key, item]) => `${toLine(key)}: ${toLine(item)}`);
    return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
  }
  return printable(JSON.stringify(value ?? null));
}

function entriesOf(value: Record<string, unknown>): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== undefined);
}
