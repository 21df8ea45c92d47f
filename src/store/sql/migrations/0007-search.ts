import type { SqlDialect } from '../dialect.ts';
import { FULL_TEXT } from '../full-text.ts';

/** The full-text index of messages, still empty; `fillSearch` takes in what is there. */
export function search({ fullText }: SqlDialect): string[] {
  return [...FULL_TEXT[fullText].tables];
}
