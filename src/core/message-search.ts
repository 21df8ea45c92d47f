/** What of a message can be found by a search, and the marks that tell in which sessions it is found. */
import { hash } from 'node:crypto';
import { type Message, textOf } from '../protocol/message.ts';
import { searchWordsOf } from './search-words.ts';

/** Only the beginning of a message is looked through, UTF-16 units: so long a text has no more words than any store can number. */
const SEARCHED_MAX = 16_000;

/**
 * Returns the text of a message that a search looks through: what its text blocks say, tool results
 * included; no thinking, no arguments of tool calls. `mask` goes over it before it is cut.
 */
export function searchedText(
  message: Message,
  mask: (text: string, shown: number) => string = (text) => text,
): string {
  return mask(textOf(message), SEARCHED_MAX).slice(0, SEARCHED_MAX);
}

/** Returns the terms that a message is found by, in order. */
export function searchTermsOf(message: Message): string[] {
  return searchWordsOf(searchedText(message)).map(({ term }) => term);
}

/** The places that a search can be narrowed to in the index itself. None of them ever changes. */
export interface SearchPlace {
  sessionKey: string;
  /** the topmost session above it */
  rootKey: string;
  agentId: string;
}

/**
 * Marks stand beside the terms of a message in the same index. They begin with a character that is no
 * letter, so that no text contains one.
 */
const MARK = '\u{E000}';

/** Returns the marks of a message in a session. */
export function searchMarksOf(place: SearchPlace): string[] {
  return [sessionMark(place.sessionKey), rootMark(place.rootKey), agentMark(place.agentId)];
}

export const sessionMark = (sessionKey: string): string => mark('s', sessionKey);
export const rootMark = (rootKey: string): string => mark('r', rootKey);
export const agentMark = (agentId: string): string => mark('a', agentId);

/** Short whatever the name is, and of letters that every index keeps as they are. */
function mark(kind: string, name: string): string {
  return `${MARK}${kind}${hash('sha256', name).slice(0, 24)}`;
}
