/**
 * Tokens of issuers, found by the rules of secretlint, a library that follows what issuers give out. Its
 * rules say where in a text a token stands; what takes its place is `mask-secrets.ts`'s to say.
 */
import { createRequire } from 'node:module';

/** First and last position of a token in a text. */
export type TokenRange = readonly [start: number, end: number];

/** Returns where tokens stand, in no order; they may overlap. */
export function findTokens(text: string): readonly TokenRange[] {
  if (!LONG_WORD.test(text)) return [];
  scan ??= loadRules();
  return scan(text);
}

/** Every format of the library has as many of these in a row; most short texts have not, and cost nothing. */
const LONG_WORD = /\w{16}/;

/** Loaded by the first text that may hold a token: a start should not wait for it. */
let scan: ((text: string) => readonly TokenRange[]) | undefined;

/** What the library looks at, and whom it tells. */
interface Rule {
  meta: { id: string };
  create(context: object, options: object): { file?(source: object): void };
}

/**
 * Rules that mask a whole address, look a thousand characters ahead at each `ghs_1_`, or let a text switch
 * the others off. `secret-formats.ts` has what the first three are about.
 */
const LEFT_OUT = /-(?:basicauth|database-connection-string|github|filter-comments)$/;

function loadRules(): (text: string) => readonly TokenRange[] {
  const require = createRequire(import.meta.url);
  const { rules } = require('@secretlint/secretlint-rule-preset-recommend') as { rules: Rule[] };
  let found: TokenRange[] = [];
  const context = {
    sharedOptions: {},
    createTranslator: () => (messageId: string) => ({ messageId, message: messageId }),
    report: ({ range }: { range: TokenRange }) => void found.push(range),
    ignore: () => {},
  };
  const looks = rules
    .filter(({ meta }) => !LEFT_OUT.test(meta.id))
    .map((rule) => rule.create(context, {}));
  return (content) => {
    found = [];
    for (const look of looks) look.file?.({ content, filePath: '', ext: '', contentType: 'text' });
    return found;
  };
}
