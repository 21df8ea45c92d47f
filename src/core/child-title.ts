/** The name under which lists show a child that was given no label (BR-212). */
import { maskBeginning } from './mask-secrets.ts';

const MAX_CHARACTERS = 60;
/** Longer words are ids, addresses or credentials: nothing to read a row by, nor to show in a list. */
const MAX_WORD_CHARACTERS = 24;

/** Returns the first words of a task on one line, null when none is fit to be shown. */
export function childTitle(task: string): string | null {
  const words = maskBeginning(task, 1000)
    .slice(0, 1000)
    .split(/[\s\p{Cc}]+/u)
    .filter((word) => word !== '');
  let title = '';
  for (const word of words) {
    const shown = Array.from(word).length > MAX_WORD_CHARACTERS ? '…' : word;
    const longer = title === '' ? shown : `${title} ${shown}`;
    if (Array.from(longer).length > MAX_CHARACTERS) return `${title} …`;
    title = longer;
  }
  return /[\p{L}\p{N}]/u.test(title) ? title : null;
}
