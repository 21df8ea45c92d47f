/** What a credential may do. One scope per method, the same for every transport (A23). */

export const OPERATOR_SCOPES = [
  'operator.read',
  'operator.write',
  'operator.admin',
  'operator.pairing',
] as const;
export type OperatorScope = (typeof OPERATOR_SCOPES)[number];

const IMPLIED: Record<OperatorScope, readonly OperatorScope[]> = {
  'operator.read': ['operator.read'],
  'operator.write': ['operator.read', 'operator.write'],
  'operator.admin': OPERATOR_SCOPES,
  'operator.pairing': ['operator.pairing'],
};

/**
 * Returns the scopes a client gets: those it asks for, with what they imply, as far as the
 * credential has them; all of the credential's when it names none at all. Unknown names grant nothing.
 */
export function grantScopes(grant: {
  /** undefined = the client has not said; an empty list asks for nothing */
  asked: readonly string[] | undefined;
  held: readonly OperatorScope[];
}): OperatorScope[] {
  const held = expandScopes(grant.held);
  if (grant.asked === undefined) return held;
  const asked = expandScopes(grant.asked);
  return held.filter((scope) => asked.includes(scope));
}

/** Returns the known scopes among the given ones with everything they imply, weakest first. */
export function expandScopes(scopes: readonly string[]): OperatorScope[] {
  const implied = new Set(
    OPERATOR_SCOPES.filter((scope) => scopes.includes(scope)).flatMap((scope) => IMPLIED[scope]),
  );
  return OPERATOR_SCOPES.filter((scope) => implied.has(scope));
}
