/** Who may give an owner's commands (A6): on webchat and the command line by scope, in a chat by name. */
import { CHANNELS } from '../protocol/words.ts';
import { fold } from './key-grammar.ts';

/** Who wrote a message. */
export type Author =
  | { type: 'operator'; scopes: readonly string[] }
  | { type: 'sender'; channel: string; senderId: string };

/** The scope that makes an operator an owner. */
export const OWNER_SCOPE = 'operator.admin';

/**
 * Returns whether the author is an owner. `ownerAllowFrom` names senders, as `<channel>:<id>` or, in every
 * channel, as `<id>`; `*` names nobody, and neither does an absent list.
 */
export function isOwner(
  author: Author,
  ownerAllowFrom: readonly (string | number)[] | undefined,
): boolean {
  if (author.type === 'operator') return author.scopes.includes(OWNER_SCOPE);
  return (ownerAllowFrom ?? []).some((entry) => isNamed(author, String(entry).trim()));
}

/** Returns whether an entry of the list can make nobody an owner: it is blank or a `*`. */
export function namesNobody(entry: string): boolean {
  return /(^|:)\s*\*?$/.test(entry.trim());
}

function isNamed(
  { channel, senderId }: { channel: string; senderId: string },
  entry: string,
): boolean {
  if (namesNobody(entry)) return false;
  const at = entry.indexOf(':');
  const prefix = fold(entry.slice(0, Math.max(at, 0)));
  if (at > 0 && prefix === fold(channel)) return entry.slice(at + 1).trim() === senderId.trim();
  // An id may hold a colon of its own (`@somebody:example.org`), but never stands for another channel.
  return !CHANNELS.some((name) => name === prefix) && entry === senderId.trim();
}
