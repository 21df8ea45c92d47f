/**
 * The page cursor of session lists. It names the last row that was examined, which the reader may not
 * be allowed to see: so it is sealed, not merely encoded.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';

/** A page position in newest-first order. */
export interface CursorPosition {
  updatedAt: number;
  key: string;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Returns the cursor text. The same position and secret give the same text. */
export function encodeSessionCursor(position: CursorPosition, secret: string): string {
  const plain = Buffer.from(JSON.stringify([position.updatedAt, position.key]));
  // The vector comes from the content: equal content gives an equal cursor, other content another vector.
  const iv = keyed(secret, 'vector', plain).subarray(0, IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyed(secret, 'cipher', Buffer.alloc(0)), iv);
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** Returns the position, or what to do when the text is not a cursor that this secret made. */
export function parseSessionCursor(
  text: string,
  secret: string,
): { ok: true; position: CursorPosition } | { ok: false; error: string } {
  try {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.toString('base64url') !== text) return NOT_A_CURSOR;
    const iv = bytes.subarray(0, IV_BYTES);
    const key = keyed(secret, 'cipher', Buffer.alloc(0));
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const sealed = bytes.subarray(IV_BYTES + TAG_BYTES);
    const plain = Buffer.concat([decipher.update(sealed), decipher.final()]).toString();
    const [updatedAt, sessionKey] = JSON.parse(plain) as [unknown, unknown];
    if (!Number.isSafeInteger(updatedAt) || typeof sessionKey !== 'string') return NOT_A_CURSOR;
    return { ok: true, position: { updatedAt: Number(updatedAt), key: sessionKey } };
  } catch {
    return NOT_A_CURSOR;
  }
}

const NOT_A_CURSOR = {
  ok: false,
  error:
    'cursor: not a cursor of this gateway; pass nextCursor of the previous page, or none to start over',
} as const;

function keyed(secret: string, purpose: string, content: Buffer): Buffer {
  return createHmac('sha256', secret)
    .update(`session cursor ${purpose}\n`)
    .update(content)
    .digest();
}
