import { GatewayError } from '../protocol/errors.ts';

/** Names that would put a secret into logs and histories when they stood in an address. */
const SECRET_NAMES: ReadonlySet<string> = new Set(
  'token access_token devicetoken device_token password auth authorization key apikey api_key'.split(
    ' ',
  ),
);

/** Returns whether an address carries a secret in its query, which no door accepts. */
export function hasSecretInQuery(url: string): boolean {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '');
  return [...query.keys()].some((name) => SECRET_NAMES.has(name.toLowerCase()));
}

/** Returns the refusal of such an address. */
export function secretInQuery(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'a secret in the address is refused; send Authorization: Bearer, or connect with auth.token',
  );
}
