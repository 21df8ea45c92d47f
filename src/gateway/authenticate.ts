import { createHash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../protocol/errors.ts';
import { OPERATOR_SCOPES } from '../protocol/scopes.ts';
import type { OperatorScope } from '../protocol/scopes.ts';

export interface GatewayAuth {
  mode: 'token' | 'password' | 'none';
  token?: string | undefined;
  password?: string | undefined;
  /** what the shared secret grants; all operator scopes when absent */
  scopes?: readonly OperatorScope[] | undefined;
}
export interface Credential {
  token?: string | undefined;
  password?: string | undefined;
}
/** Contract: returns what the credential grants, or throws `unauthorized`; nothing is read before it has returned. */
export type Authenticate = (given: Credential) => readonly OperatorScope[];

/** Returns the check of credentials; throws `config` when the mode lacks its secret. */
function createAuthenticate(auth: GatewayAuth): Authenticate {
  const held = auth.scopes ?? OPERATOR_SCOPES;
  if (auth.mode === 'none') return () => held;
  const kind = auth.mode;
  const secret = auth[kind];
  if (secret === undefined || secret === '')
    throw new GatewayError(
      'config',
      `gateway.auth.mode is "${kind}" but gateway.auth.${kind} is empty`,
    );
  const expected = digest(secret);
  return (given) => {
    const offered = given[kind];
    if (offered === undefined || offered === '') throw refused(kind, 'MISSING');
    // digests have one length, so the comparison takes the same time for every wrong value
    if (!timingSafeEqual(digest(offered), expected)) throw refused(kind, 'MISMATCH');
    return held;
  };
}

/** The shared secret in force. What was let in under an earlier one is let in no longer. */
export interface SharedSecret {
  /** counts the secrets that were in force */
  readonly generation: number;
  check: Authenticate;
  /** Returns whether another secret, or another mode, is in force now; throws `config` like the creation. */
  replace(auth: GatewayAuth): boolean;
}

/** Returns the holder of the secret that new connections have to show. */
export function createSharedSecret(first: GatewayAuth): SharedSecret {
  let auth = first;
  let check = createAuthenticate(first);
  let generation = 1;
  return {
    get generation() {
      return generation;
    },
    check: (given) => check(given),
    replace: (next) => {
      const isOther = next.mode !== auth.mode || secretOf(next) !== secretOf(auth);
      check = createAuthenticate(next);
      auth = next;
      if (isOther) generation += 1;
      return isOther;
    },
  };
}

function secretOf(auth: GatewayAuth): string | undefined {
  return auth.mode === 'none' ? undefined : auth[auth.mode];
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function refused(kind: 'token' | 'password', why: 'MISSING' | 'MISMATCH'): GatewayError {
  const message =
    why === 'MISSING' ? `the gateway needs a ${kind}; give auth.${kind}` : `the ${kind} is wrong`;
  return new GatewayError('unauthorized', message, {
    details: {
      code: `AUTH_${kind.toUpperCase()}_${why}`,
      recommendedNextStep: why === 'MISSING' ? 'provide_credentials' : 'update_credentials',
    },
  });
}
