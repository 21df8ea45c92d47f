import { GatewayError } from '../protocol/errors.ts';

/** Names that would put a secret into logs and histories when they stood in an address. */
const SECRET_NAMES = ['token', 'access_token', 'password', 'auth', 'key', 'api_key'];

/** Returns whether an address carries a secret in its query, which no door accepts. */
export function hasSecretInQuery(url: string): boolean {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  return SECRET_NAMES.some((name) => query.has(name));
}

/** Returns the refusal of such an address. */
export function secretInQuery(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'a secret in the address is refused; send Authorization: Bearer, or connect with auth.token',
  );
}
