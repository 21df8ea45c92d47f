/** UTF-16 units of text before and after the place that is shown. */
const BEFORE = 80;
const AFTER = 160;

/** Returns one line of the text around a place in it. */
export function snippetAt(text: string, place: { start: number; end: number }): string {
  const start = Math.max(0, place.start - BEFORE);
  const end = Math.min(
    text.length,
    Math.max(place.start + AFTER, Math.min(place.end, start + 400)),
  );
  const line = text
    .slice(start, end)
    .toWellFormed()
    .replace(/^\uFFFD|\uFFFD$/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return `${start > 0 ? '…' : ''}${line}${end < text.length ? '…' : ''}`;
}
