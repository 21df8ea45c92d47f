/**
 * Credentials taken out of what another session reads (A8). The rest of a text stays as it is; what is
 * stored is never changed.
 */
import { findTokens, type TokenRange } from './issuer-formats.ts';
import { PLACED_FORMATS, SECRET_NAME, TOKEN_FORMATS } from './secret-formats.ts';

/** Stands where a credential was. */
export const MASK = '[masked]';

/** Returns the text without the values of credentials, and the text itself when it holds none. */
export function maskSecrets(text: string): string {
  patterns ??= compile();
  let masked = text;
  for (const pattern of patterns) masked = masked.replace(pattern, `$<kept>${MASK}`);
  return maskRanges(masked, findTokens(masked));
}

/** The same for a text that may also hold one of these secrets, whatever it looks like. */
export function maskKnown(text: string, secrets: readonly string[]): string {
  return maskSecrets(maskGiven(text, secrets));
}

/** Returns the text without these secrets, and otherwise as it is. */
export function maskGiven(text: string, secrets: readonly string[]): string {
  let masked = text;
  // the longest first: it may begin with another one
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    if (secret.length >= SHORTEST_SECRET) masked = masked.replaceAll(secret, MASK);
  return masked;
}

/** Shorter ones would stand in texts by chance, UTF-16 units. */
const SHORTEST_SECRET = 6;

function maskRanges(text: string, ranges: readonly TokenRange[]): string {
  if (ranges.length === 0) return text;
  let masked = '';
  let end = 0;
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from >= end) masked += text.slice(end, from) + MASK;
    end = Math.max(end, to);
  }
  return masked + text.slice(end);
}

/**
 * The same for a text of which at most the first `shown` characters are shown: the rest is looked at only
 * as far as it may hold the end of a credential, so that a text costs what is shown of it.
 */
export function maskBeginning(text: string, shown: number): string {
  const wanted = shown + MARGIN;
  for (let looked = wanted; ; looked *= 2) {
    const masked = maskSecrets(text.slice(0, looked));
    // masks are shorter than what they stand for: what moves up must have been looked at too
    if (masked.length >= wanted || looked >= text.length) return masked + text.slice(looked);
  }
}

/** Longer than any credential, UTF-16 units. */
const MARGIN = 4000;

/** Made by the first text: most gateways never mask one. */
let patterns: RegExp[] | undefined;

function compile(): RegExp[] {
  const tokens = TOKEN_FORMATS.map(([, pattern]) => pattern).join('|');
  return [
    ...PLACED_FORMATS.map(([, pattern, flags]) => new RegExp(pattern, `g${flags}`)),
    // the empty group is what the others keep
    new RegExp(`(?<![\\w-])(?<kept>)(?:${tokens})`, 'g'),
  ];
}

/**
 * Returns a value of JSON with every text in it masked by `mask`, and the value itself when nothing
 * changed. A text under the name of a credential goes as a whole; image data is left alone.
 */
export function maskValue(value: unknown, mask: (text: string) => string = maskSecrets): unknown {
  if (typeof value === 'string') return mask(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => maskValue(item, mask));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const record = value as Record<string, unknown>;
  if (record['type'] === 'image') return value;
  const entries = Object.entries(record).map(
    ([name, item]) => [name, maskMember(name, item, mask)] as const,
  );
  return entries.some(([name, item]) => item !== record[name])
    ? Object.fromEntries(entries)
    : value;
}

function maskMember(name: string, value: unknown, mask: (text: string) => string): unknown {
  if (name === 'thinkingSignature') return value;
  if (typeof value === 'string' && value !== '' && SECRET_NAME.test(name)) return MASK;
  return maskValue(value, mask);
}
