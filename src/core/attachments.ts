/** Reading the `attachments` of a spawn (A17, B7.8): what is sound becomes bytes, the first flaw is named. */
import { createHash } from 'node:crypto';
import { briefly } from '../util/briefly.ts';
import { nearestName } from '../util/nearest-name.ts';
import { base64Flaw, decodedBytes } from './base64.ts';
import { attachmentNameFlaw, foldAttachmentName } from './attachment-names.ts';

/** `tools.sessions_spawn.attachments`: what one spawn may bring. */
export interface AttachmentLimits {
  maxFiles: number;
  /** bytes of one file, decoded */
  maxFileBytes: number;
  /** bytes of all of them */
  maxTotalBytes: number;
}

/** What is told and kept of an attachment, everywhere but in its file. */
export interface AttachmentFacts {
  name: string;
  /** decoded */
  bytes: number;
  /** hex, of the decoded bytes */
  sha256: string;
  mimeType?: string;
}

/** An attachment with its content. */
export interface Attachment extends AttachmentFacts {
  content: Buffer;
}

export type ReadAttachments = { ok: true; files: Attachment[] } | { ok: false; error: string };

/** An attachment whose form is sound, before it is decoded. */
interface Given {
  /** how errors call it */
  title: string;
  name: string;
  content: string;
  encoding: 'utf8' | 'base64';
  mimeType: string | undefined;
}

const MEMBERS = ['name', 'content', 'encoding', 'mimeType'];
const MAX_MIME_CHARACTERS = 255;

/**
 * Returns the attachments as bytes, or one sentence that names the first that is wrong. Nothing is decoded
 * before the size of all of it is known to be within the limits.
 */
export function readAttachments(
  given: readonly unknown[] | undefined,
  limits: AttachmentLimits,
): ReadAttachments {
  const items = given ?? [];
  if (items.length > limits.maxFiles) {
    return flawed(
      `attachments has ${items.length} files, tools.sessions_spawn.attachments.maxFiles is ${limits.maxFiles}`,
    );
  }
  const files: Given[] = [];
  for (const [index, item] of items.entries()) {
    const read = readItem(item, `attachments[${index}]`);
    if (typeof read === 'string') return flawed(read);
    files.push(read);
  }
  const error = sameNames(files) ?? tooLarge(files, limits) ?? undecodable(files);
  return error === undefined ? { ok: true, files: files.map(decode) } : flawed(error);
}

/** Returns what of the attachments may be kept and told. */
export function factsOf({ name, bytes, sha256, mimeType }: AttachmentFacts): AttachmentFacts {
  return { name, bytes, sha256, ...(mimeType === undefined ? {} : { mimeType }) };
}

/** Returns the bytes of a text in its encoding. */
export function bytesOf(content: string, encoding: 'utf8' | 'base64'): Buffer {
  return Buffer.from(content, encoding);
}

/** Returns the sha256 of bytes, hex. */
export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function flawed(error: string): ReadAttachments {
  return { ok: false, error: `${error}; no child was started` };
}

/** Returns the item, or what is wrong with it. */
function readItem(item: unknown, place: string): Given | string {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    return `${place} must be an object {name, content, encoding?, mimeType?}`;
  }
  const known = Object.entries(item).filter(([, value]) => value !== null && value !== undefined);
  const unknown = known.find(([member]) => !MEMBERS.includes(member))?.[0];
  if (unknown !== undefined) {
    const nearest = nearestName(unknown, MEMBERS) ?? '';
    return `${place} has an unknown member "${briefly(unknown)}", nearest: "${nearest}"; known: ${MEMBERS.join(', ')}`;
  }
  const { name, content, encoding = 'utf8', mimeType } = Object.fromEntries(known);
  if (typeof name !== 'string') return `${place} needs name: a text`;
  const title = `${place} ${JSON.stringify(briefly(name))}`;
  const nameFlaw = attachmentNameFlaw(name);
  if (nameFlaw !== undefined) return `the name of ${title} ${nameFlaw}`;
  if (typeof content !== 'string') {
    return `${title} needs content: a text (a transcript keeps only its size and hash; give it again)`;
  }
  if (encoding !== 'utf8' && encoding !== 'base64') {
    return `encoding of ${title} must be "utf8" or "base64"`;
  }
  if (mimeType !== undefined && !isMimeType(mimeType)) {
    return `mimeType of ${title} must be a type such as text/plain`;
  }
  return { title, name, content, encoding, mimeType };
}

function isMimeType(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= MAX_MIME_CHARACTERS &&
    /^[\w.+-]+\/[\w.+-]+(?:;[ -~]*)?$/.test(value)
  );
}

function sameNames(files: readonly Given[]): string | undefined {
  const titles = new Map<string, string>();
  for (const { name, title } of files) {
    const folded = foldAttachmentName(name);
    const earlier = titles.get(folded);
    if (earlier !== undefined) {
      return `${earlier} and ${title} have the same name (case, composed letters, dots and spaces at the end do not count)`;
    }
    titles.set(folded, title);
  }
  return undefined;
}

function tooLarge(files: readonly Given[], limits: AttachmentLimits): string | undefined {
  let total = 0;
  for (const file of files) {
    const bytes = sizeOf(file);
    if (bytes > limits.maxFileBytes) {
      return `${file.title} has ${bytes} bytes, tools.sessions_spawn.attachments.maxFileBytes is ${limits.maxFileBytes}`;
    }
    total += bytes;
  }
  if (total <= limits.maxTotalBytes) return undefined;
  return `attachments have ${total} bytes together, tools.sessions_spawn.attachments.maxTotalBytes is ${limits.maxTotalBytes}`;
}

function sizeOf({ content, encoding }: Given): number {
  return encoding === 'base64' ? decodedBytes(content) : Buffer.byteLength(content);
}

function undecodable(files: readonly Given[]): string | undefined {
  for (const { title, content, encoding } of files) {
    const flaw = encoding === 'base64' ? base64Flaw(content) : textFlaw(content);
    if (flaw !== undefined) return `content of ${title} ${flaw}`;
  }
  return undefined;
}

/** Half a character would be written as another one. */
function textFlaw(content: string): string | undefined {
  return content.isWellFormed() ? undefined : 'is no valid text; send it as base64';
}

function decode({ name, content, encoding, mimeType }: Given): Attachment {
  const bytes = bytesOf(content, encoding);
  const facts = { name, bytes: bytes.length, sha256: sha256Of(bytes) };
  return { ...facts, ...(mimeType === undefined ? {} : { mimeType }), content: bytes };
}
