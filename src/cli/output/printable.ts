/**
 * Returns a text that is safe to show on a terminal: control characters, which could move the
 * cursor or rewrite what was shown, become visible. Newlines and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(
    // eslint-disable-next-line no-control-regex
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns the text on one line, at most `max` characters long. */
export function oneLine(text: string, max: number): string {
  const line = printable(text).replace(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  return characters.length <= max ? line : `${characters.slice(0, max - 1).join('')}…`;
}
