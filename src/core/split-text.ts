/** Splitting a long text into parts that a channel takes (A19). */

/**
 * Returns the parts in order, each at most `maxLength` UTF-16 units, cut at the last line break or
 * space where there is one in the second half. Joined by what the cuts swallowed they give the text.
 */
export function splitText(text: string, maxLength: number): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > maxLength) {
    const cut = cutOf(rest, maxLength);
    parts.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return rest === '' ? parts : [...parts, rest];
}

function cutOf(text: string, maxLength: number): number {
  const head = text.slice(0, maxLength + 1);
  for (const separator of ['\n\n', '\n', ' ']) {
    const at = head.lastIndexOf(separator);
    if (at > maxLength / 2) return at;
  }
  // Never between the halves of one character.
  const last = text.codePointAt(maxLength - 1) ?? 0;
  return last > 0xffff ? maxLength - 1 : maxLength;
}
