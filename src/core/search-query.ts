/**
 * What `sessions_search` understands: words that must all be there, "phrases" and `prefix*`. Everything
 * else is literal, so no text is a syntax error.
 */
import { searchWordsOf, type SearchWord } from './search-words.ts';

/** Terms that stand next to each other. */
export interface SearchUnit {
  terms: string[];
  /** the last term is the beginning of a word */
  isPrefix: boolean;
}

/** A query is at most this long, UTF-16 units, */
const QUERY_MAX = 256;
/** asks for this many words and phrases, */
const UNITS_MAX = 16;
/** holds this many words in all (a phrase of a script without spaces has one for each character), */
const TERMS_MAX = 64;
/** and gives this much of a word that ends in `*`. */
const PREFIX_MIN = 3;

/** A phrase up to its closing quote or the end, or a word and the star behind it. */
const PARTS = /"([^"]*)"?|([^\s"]+)/g;

/** Returns what is asked for, or what is wrong with it and what to do. */
export function parseSearchQuery(
  text: string,
): { ok: true; units: SearchUnit[] } | { ok: false; error: string } {
  if (text.length > QUERY_MAX) return refusal(`has at most ${QUERY_MAX} characters`);
  const units: SearchUnit[] = [];
  for (const [, phrase, word] of text.matchAll(PARTS)) {
    const unit = toUnit(phrase ?? word ?? '', word?.endsWith('*') === true);
    if (unit === 'short') return refusal(`needs at least ${PREFIX_MIN} letters before a "*"`);
    if (unit !== undefined) units.push(unit);
  }
  if (units.length === 0)
    return refusal('has no letters or digits to look for; write a word or a "phrase"');
  if (units.length > UNITS_MAX)
    return refusal(`asks for at most ${UNITS_MAX} words and phrases; leave some out`);
  if (units.flatMap(({ terms }) => terms).length > TERMS_MAX)
    return refusal(`has at most ${TERMS_MAX} words; leave some out`);
  return { ok: true, units };
}

function refusal(rule: string): { ok: false; error: string } {
  return { ok: false, error: `query of a search ${rule}` };
}

function toUnit(text: string, endsWithStar: boolean): SearchUnit | 'short' | undefined {
  const words = searchWordsOf(text);
  const last = words.at(-1);
  if (last === undefined) return undefined;
  // the text may go on where the query ends, and then it has no such word
  if (last.kind === 'last') return { terms: termsOf(words.slice(0, -1)), isPrefix: false };
  const isBeginning = last.kind === 'word' && endsWithStar;
  if (isBeginning && last.term.length < PREFIX_MIN) return 'short';
  return { terms: termsOf(words), isPrefix: isBeginning || last.kind === 'single' };
}

function termsOf(words: readonly SearchWord[]): string[] {
  return words.map(({ term }) => term);
}

/** Returns where the first unit stands in a text, or undefined when not all of them are in it. */
export function findUnits(
  units: readonly SearchUnit[],
  words: readonly SearchWord[],
): { start: number; end: number } | undefined {
  const places = units.map((unit) => findUnit(unit, words));
  return places.every((place) => place !== undefined) ? places[0] : undefined;
}

function findUnit(
  { terms, isPrefix }: SearchUnit,
  words: readonly SearchWord[],
): { start: number; end: number } | undefined {
  const lastOffset = terms.length - 1;
  const at = words.findIndex((_, index) =>
    terms.every((term, offset) => {
      const found = words[index + offset]?.term;
      if (isPrefix && offset === lastOffset) return found?.startsWith(term) === true;
      return found === term;
    }),
  );
  const first = words[at];
  const last = words[at + lastOffset];
  return first && last && { start: first.start, end: last.end };
}
