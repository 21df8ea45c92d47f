/**
 * How a text becomes the words that are looked for. It is done here and not by a database, so that the
 * same query finds the same messages on every store.
 */

export interface SearchWord {
  /** what is compared: without case, accents and forms of width */
  term: string;
  /** place in the text, UTF-16 units */
  start: number;
  end: number;
  /**
   * Scripts that put no space between words are cut into pairs of characters: `pair` is one of them,
   * `last` the single character at the end of such a run, `single` a run of one character.
   */
  kind: 'word' | 'pair' | 'last' | 'single';
}

/** Terms are cut there, UTF-16 units: no word is that long, but encoded data is. */
const TERM_MAX = 64;

const UNSPACED = [
  'Han',
  'Hiragana',
  'Katakana',
  'Hangul',
  'Bopomofo',
  'Thai',
  'Lao',
  'Khmer',
  'Myanmar',
]
  .map((script) => `\\p{Script_Extensions=${script}}`)
  .join('');
const LETTERS = '[\\p{L}\\p{N}\\p{M}]';
const ACCENT = '[\\u0300-\\u036f]';
/** Accents belong to what they stand on, although some are used with a script without spaces too. */
const WITHOUT_SPACES = `[[${UNSPACED}]--${ACCENT}]`;
const FIRST = '[\\p{L}\\p{N}]';
/** Runs of letters and digits with their marks; the group is a run of a script without spaces. */
const RUNS = new RegExp(
  `([${FIRST}&&${WITHOUT_SPACES}][${LETTERS}&&${WITHOUT_SPACES}]*)|` +
    `[${FIRST}--${WITHOUT_SPACES}][${LETTERS}--${WITHOUT_SPACES}]*`,
  'gv',
);
const ASCII = /^[\0-\x7f]*$/;
const ACCENTS = new RegExp(ACCENT, 'g');
const NO_LETTERS = /[^\p{L}\p{N}\p{M}]+/gu;

/** Returns the words of a text in order. Costs a text once. */
export function searchWordsOf(text: string): SearchWord[] {
  const words: SearchWord[] = [];
  for (const match of text.matchAll(RUNS)) {
    const [run, unspaced] = match;
    const place = { start: match.index, end: match.index + run.length };
    if (unspaced === undefined) {
      const term = fold(cut(run));
      if (term !== '') words.push({ term, ...place, kind: 'word' });
    } else {
      words.push(...pairsOf(unspaced, place));
    }
  }
  return words;
}

function pairsOf(run: string, { start, end }: { start: number; end: number }): SearchWord[] {
  const folded = fold(run);
  const characters = Array.from(folded);
  // after a change of form the characters stand elsewhere: then each stands for the whole run
  const isInPlace = folded.length === run.length;
  let at = start;
  return characters.map((character, index) => {
    const next = characters[index + 1];
    const term = character + (next ?? '');
    const place = isInPlace ? { start: at, end: at + term.length } : { start, end };
    at += character.length;
    const kind = next !== undefined ? 'pair' : index === 0 ? 'single' : 'last';
    return { term, ...place, kind };
  });
}

function fold(word: string): string {
  if (ASCII.test(word)) return word.toLowerCase();
  const plain = word.normalize('NFKD').replace(ACCENTS, '').toLowerCase().replaceAll('ς', 'σ');
  return plain.normalize('NFKC').replace(NO_LETTERS, '');
}

/** Not inside a surrogate pair. */
function cut(word: string): string {
  if (word.length <= TERM_MAX) return word;
  const last = word.charCodeAt(TERM_MAX - 1);
  return word.slice(0, last >= 0xd800 && last <= 0xdbff ? TERM_MAX - 1 : TERM_MAX);
}
