import { createHash } from 'node:crypto';
import { encodeSessionCursor, parseSessionCursor } from '../../core/session-cursor.ts';

/** What a cursor of a search belongs to. */
interface SearchIdentity {
  query: string;
  /** canonical key of the one session that is searched */
  sessionKey: string | undefined;
  secret: string;
}

/** Returns the cursor of a place in a search. It is sealed: the place counts messages of others too. */
export function sealSearchCursor(place: number, identity: SearchIdentity): string {
  const position = { updatedAt: place, key: nameOf(identity) };
  return encodeSessionCursor(position, identity.secret);
}

/** Returns the place, undefined without a cursor, or what to do when it is none of this search. */
export function parseSearchCursor(
  cursor: string | undefined,
  identity: SearchIdentity,
): { ok: true; before: number | undefined } | { ok: false; error: string } {
  if (cursor === undefined) return { ok: true, before: undefined };
  const parsed = parseSessionCursor(cursor, identity.secret);
  if (!parsed.ok) return parsed;
  if (parsed.position.key === nameOf(identity))
    return { ok: true, before: parsed.position.updatedAt };
  return {
    ok: false,
    error:
      'cursor belongs to another search; pass it with the same query and sessionKey, or leave it out to start over',
  };
}

function nameOf({ query, sessionKey = '' }: SearchIdentity): string {
  return `search ${createHash('sha256').update(`${sessionKey}\n${query}`).digest('base64url')}`;
}
