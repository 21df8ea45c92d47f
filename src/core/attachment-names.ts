/** Which names an attachment may have (B7.8), and when two names are one. */

/** Stands beside the files and says what they are. */
export const MANIFEST_NAME = '.manifest.json';

const MAX_NAME_BYTES = 255;
/** Control characters and line separators, and marks that turn the order in which a name is shown. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u;

/** Returns what is wrong with the name of an attachment, undefined = nothing. */
export function attachmentNameFlaw(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (!name.isWellFormed()) return 'is no valid text';
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`;
  if (/[/\\]/.test(name)) return 'holds a slash or backslash; attachments have no folders';
  if (UNPRINTABLE.test(name)) return 'holds a control character';
  const folded = foldAttachmentName(name);
  if (folded === '' || folded === MANIFEST_NAME) return 'is reserved';
  return undefined;
}

/**
 * Returns what is equal for names that some file system takes for one: case, the composition of
 * letters, and dots and spaces at the end do not count.
 */
export function foldAttachmentName(name: string): string {
  const folded = name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/[. ]+$/, '');
}
