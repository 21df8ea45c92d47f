/**
 * Text that every database keeps as it is. Postgres refuses U+0000, UTF-8 has no lone surrogates;
 * both become U+FFFD.
 */
const REPLACEMENT = '\uFFFD';

/** Returns `text` without U+0000 and lone surrogates. */
export function cleanText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', REPLACEMENT) : wellFormed;
}

const BAD_ESCAPE = /\\u(?:0000|d[89a-f])/i;
/** An escaped pair, or any one escape; a backslash that is itself escaped is taken as one escape. */
const ESCAPE = /\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})|\\./gis;

/** Returns JSON text whose strings hold no U+0000 and no lone surrogate, escaped or raw. */
export function cleanJson(json: string): string {
  if (!BAD_ESCAPE.test(json)) return cleanText(json);
  const replaced = json.replace(
    ESCAPE,
    (
      escape: string,
      high: string | undefined,
      _low: string | undefined,
      unit: string | undefined,
    ) => (high === undefined && unit !== undefined && isBadUnit(unit) ? REPLACEMENT : escape),
  );
  return cleanText(replaced);
}

function isBadUnit(hex: string): boolean {
  const unit = Number.parseInt(hex, 16);
  return unit === 0 || (unit >= 0xd800 && unit <= 0xdfff);
}
