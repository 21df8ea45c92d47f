/** Base64 in its one strict form: the standard alphabet, padded, nothing in between. */

/** Returns how many bytes a base64 text stands for; nothing is decoded. */
export function decodedBytes(text: string): number {
  return Math.max(0, Math.floor((text.length * 3) / 4) - paddingOf(text));
}

/** Returns what is wrong with a base64 text, undefined = nothing. */
export function base64Flaw(text: string): string | undefined {
  if (text.length % 4 !== 0)
    return 'is no base64: its length is no multiple of 4, padding included';
  if (/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - paddingOf(text)))) {
    return 'is no base64: only A-Z, a-z, 0-9, + and / may stand before the padding';
  }
  // the bits behind the last byte are none: two texts of one content would be two
  const tail = text.slice(-4);
  return Buffer.from(tail, 'base64').toString('base64') === tail
    ? undefined
    : 'is no base64: the bits behind its end are not zero';
}

function paddingOf(text: string): number {
  if (text.endsWith('==')) return 2;
  return text.endsWith('=') ? 1 : 0;
}
