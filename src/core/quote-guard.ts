/** Keeping prompts out of error texts: a model service may quote what it was sent (A18). */

/** Longest error that is told; what helps stands at its beginning. */
const MAX_ERROR_CHARACTERS = 500;
/** A run of this length that also stands in the source is a quote; shorter ones may be chance. */
const QUOTE_LENGTH = 24;
const STEP = QUOTE_LENGTH / 2;
/** Something long in quotation marks is data, not explanation. */
const LONG_LITERAL = /(?<![\p{L}\p{N}])(["'`])[^"'`\n]{40,}(?:\1|$)/gu;

/** Returns the beginning of an error, without long literals, and cut where it quotes the source for 36 characters or more. */
export function withoutQuotes(error: string, source: string): string {
  const text = error.slice(0, MAX_ERROR_CHARACTERS).replace(LONG_LITERAL, '$1…$1');
  const at = quoteIn(text, source);
  if (at !== undefined) return `${text.slice(0, at).trimEnd()}…`;
  return error.length > MAX_ERROR_CHARACTERS ? `${text.trimEnd()}…` : text;
}

/** Where the first long run that both have in common begins. */
function quoteIn(text: string, source: string): number | undefined {
  for (let at = 0; at + QUOTE_LENGTH <= text.length; at += STEP) {
    const end = at + QUOTE_LENGTH;
    if (!source.includes(text.slice(at, end))) continue;
    let start = at;
    while (start > 0 && source.includes(text.slice(start - 1, end))) start -= 1;
    return start;
  }
  return undefined;
}
