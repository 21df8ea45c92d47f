/** Where an operator's words lead: a session that is there, or one that they may make (A4). */
import { mayOperatorCreate } from '../../core/keys.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import { keySettings } from './key-settings.ts';

/** A session and its agent. */
export interface OperatorPlace {
  key: string;
  agentId: string;
}

/** Returns the session that may be made under a key that finds none. Rejects `not_found` where none may be. */
export function newPlaceOf(config: Config, canonicalKey: string): OperatorPlace {
  const { agentIds, mainKey } = keySettings(config);
  const creation = mayOperatorCreate(canonicalKey, { mainKey, agentIds });
  if (!creation.ok) throw new GatewayError('not_found', creation.error);
  return { key: canonicalKey, agentId: creation.agentId };
}

/** Throws `invalid_request` when an agent was named that is not the session's; returns the place. */
export function refuseOtherAgent(
  given: string | undefined,
  { key, agentId }: OperatorPlace,
): OperatorPlace {
  if (given === undefined || given.toLowerCase() === agentId) return { key, agentId };
  throw new GatewayError(
    'invalid_request',
    `agentId ${given} and the session of agent ${agentId} do not go together; give one of them`,
  );
}
