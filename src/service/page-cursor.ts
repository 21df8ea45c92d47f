/** Cursors of the operator's lists: sealed, and each good for the one form of list that gave it. */
import {
  type CursorPosition,
  encodeSessionCursor,
  parseSessionCursor,
} from '../core/session-cursor.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { ServiceContext } from './context.ts';

type Sealing = Pick<ServiceContext, 'cursorSecret'>;

/** Returns the cursor of the row that a page ended with; `form` keeps lists of another order apart. */
export function pageCursor({ cursorSecret }: Sealing, form: string, at: CursorPosition): string {
  const { updatedAt, key } = at;
  return encodeSessionCursor({ updatedAt, key: `${form} ${key}` }, cursorSecret);
}

/** Returns the position that a cursor stands for. Throws when it is none, or one of another list. */
export function openPageCursor(
  { cursorSecret }: Sealing,
  { method, form, cursor }: { method: string; form: string; cursor: string | undefined },
): CursorPosition | undefined {
  if (cursor === undefined) return undefined;
  const parsed = parseSessionCursor(cursor, cursorSecret);
  if (!parsed.ok) throw new GatewayError('invalid_request', `${method}: ${parsed.error}`);
  const { updatedAt, key } = parsed.position;
  if (!key.startsWith(`${form} `)) {
    throw new GatewayError('invalid_request', `${method}: cursor: it belongs to another list`);
  }
  return { updatedAt, key: key.slice(form.length + 1) };
}
