/** Splitting a long text into parts that a channel takes (A19). */
import { visibleText } from './silence.ts';

/** The longest silence word, so that a cut is looked at on both sides. */
const LONGEST_WORD = 'ANNOUNCE_SKIP'.length;

/**
 * Returns the parts in order, each at most `maxLength` UTF-16 units, cut at the last line break or
 * space where there is one in the second half. Joined by what the cuts swallowed they give the text.
 * No part is blank, and no cut makes a silence word stand alone that did not before.
 */
export function splitText(text: string, maxLength: number): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > maxLength) {
    const cut = cutOf(rest, maxLength);
    const part = rest.slice(0, cut).trimEnd();
    if (part !== '') parts.push(part);
    rest = rest.slice(cut).trimStart();
  }
  return rest.trim() === '' ? parts : [...parts, rest];
}

function cutOf(text: string, maxLength: number): number {
  const head = text.slice(0, maxLength + 1);
  for (const separator of ['\n\n', '\n', ' ']) {
    const at = head.lastIndexOf(separator);
    if (at > maxLength / 2) return at;
  }
  for (let at = maxLength; at > maxLength / 2; at -= 1) {
    if (!isInCharacter(text, at) && !makesSilence(text, at)) return at;
  }
  return isInCharacter(text, maxLength) && maxLength > 1 ? maxLength - 1 : maxLength;
}

/** True between the halves of one character. */
function isInCharacter(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** A word inside a longer one, such as `MY_NO_REPLY`, is none until the text is cut beside it. */
function makesSilence(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - LONGEST_WORD - 1), at);
  const after = text.slice(at, at + LONGEST_WORD + 1);
  return [before, after].some((side) => visibleText(side).text !== side && side.trim() !== '');
}
