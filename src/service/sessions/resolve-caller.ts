import type { Closure } from '../../core/access.ts';
import type { SessionCaller } from '../../core/caller.ts';
import type { Refusal } from '../../core/refusals.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { keySettings } from './key-settings.ts';
import { lookUpSession } from './look-up-session.ts';
import type { FoundSession, LookUp } from './look-up-session.ts';

/** Returns the session that a door call acts as (A1). Rejects `not_found` or `invalid_request`. */
export async function resolveCaller(
  { store, config }: Pick<ServiceContext, 'store' | 'config'>,
  sessionKey: string,
): Promise<SessionCaller> {
  const found = await store.read((tx) => lookUpForOperator(tx, config(), sessionKey));
  if (found.closure !== undefined) {
    const { rule, error } = callerClosedRefusal(found.key, found.closure);
    throw new GatewayError('invalid_request', error, { details: { rule } });
  }
  return { type: 'session', sessionKey: found.key, agentId: found.agentId };
}

/** Returns the refusal of all that a closed session asks. */
export function callerClosedRefusal(sessionKey: string, closure: Closure): Refusal {
  const error = `session ${sessionKey} is ${closure} and cannot act; use another sessionKey`;
  return { status: 'error', error, rule: 'caller_closed' };
}

/** Returns what an operator's words name, or that there is none; `main` is the default agent's. */
export function findForOperator(tx: ReadTx, config: Config, text: string): Promise<LookUp> {
  const viewer = {
    agentId: keySettings(config).defaultAgentId,
    currentKey: undefined,
    findsDeleted: true,
    namesShared: true,
  };
  return lookUpSession(tx, config, { text, viewer });
}

/** The same of what has to be there. Rejects `not_found` or `invalid_request`. */
export async function lookUpForOperator(
  tx: ReadTx,
  config: Config,
  text: string,
): Promise<FoundSession> {
  const found = await findForOperator(tx, config, text);
  if (found.type === 'session') return found;
  if (found.type === 'malformed') throw new GatewayError('invalid_request', found.error);
  throw new GatewayError('not_found', `${found.what} not found; see sessions.list`);
}
