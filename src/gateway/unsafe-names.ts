import { GatewayError } from '../protocol/errors.ts';

const NAME = '__proto__';

/**
 * Throws `invalid_request` when an object of the JSON has a member `__proto__`. What reads objects by
 * name treats it in ways of its own; a member that would vanish on the way is refused instead.
 */
export function refuseUnsafeNames(json: unknown, text: string): void {
  // a text that cannot spell the name is not walked
  if (!text.includes(NAME) && !text.includes('\\u')) return;
  if (hasUnsafeName(json))
    throw new GatewayError('invalid_request', `the JSON has a member "${NAME}"; leave it out`);
}

/** Contract: the nesting of the value is bounded. */
function hasUnsafeName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.hasOwn(value, NAME)) return true;
  return Object.values(value).some(hasUnsafeName);
}
