/** What a grammar of generated input is. */
import type fc from 'fast-check';

export const GRAMMAR_NAMES = [
  'frames',
  'tools',
  'keys',
  'config',
  'cursors',
  'methods',
  'mcp',
] as const;
export type GrammarName = (typeof GRAMMAR_NAMES)[number];

export interface Grammar<Input> {
  readonly inputs: fc.Arbitrary<Input>;
  /** Feeds one input to the code, and throws when what comes of it breaks a rule. */
  feed(input: Input): Promise<void> | void;
}
