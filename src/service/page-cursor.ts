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

/** Returns the position that a cursor stands for, or what to do when it is none, or one of another list. */
export function parsePageCursor(
  { cursorSecret }: Sealing,
  { form, cursor }: { form: string; cursor: string | undefined },
): { ok: true; position: CursorPosition | undefined } | { ok: false; error: string } {
  if (cursor === undefined) return { ok: true, position: undefined };
  const parsed = parseSessionCursor(cursor, cursorSecret);
  if (!parsed.ok) return parsed;
  const { updatedAt, key } = parsed.position;
  if (!key.startsWith(`${form} `)) return OF_ANOTHER_LIST;
  return { ok: true, position: { updatedAt, key: key.slice(form.length + 1) } };
}

const OF_ANOTHER_LIST = {
  ok: false,
  error: 'cursor: it belongs to another list; pass nextCursor of this one, or none to start over',
} as const;

/** The same for a gateway method: throws what to do. */
export function openPageCursor(
  sealing: Sealing,
  { method, ...given }: { method: string; form: string; cursor: string | undefined },
): CursorPosition | undefined {
  const parsed = parsePageCursor(sealing, given);
  if (parsed.ok) return parsed.position;
  throw new GatewayError('invalid_request', `${method}: ${parsed.error}`);
}
