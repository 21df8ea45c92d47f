/** What stands against a message of a person or program (`chat.send`, `agent`), in the order in which it is told. Writes nothing. */
import { closureOf } from '../../core/access.ts';
import { findAgent } from '../../core/agents.ts';
import { foldUuid, mayOperatorCreate } from '../../core/keys.ts';
import type { Refusal, RefusalRule } from '../../core/refusals.ts';
import { type ErrorCode, GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { sendPolicyRefusal } from '../delivery/outbox.ts';
import { keySettings } from '../sessions/key-settings.ts';
import {
  type FoundSession,
  lookUpMain,
  lookUpSession,
  type LookUp,
} from '../sessions/look-up-session.ts';
import { type OperatorPlace, refuseOtherAgent } from '../sessions/operator-place.ts';
import { briefly } from '../../util/briefly.ts';
import type { AcceptMessage } from './accepted-message.ts';

/** The session that a message goes to. */
interface MessagePlace extends OperatorPlace {
  /** what refuses one that was not accepted before: the sessionId is not the session's own, any more or at all */
  stale?: Refusal;
}

/** Returns the session that a message goes to, or why to none; one that is not there is made only where an operator may (A4). */
export async function findPlace(
  tx: ReadTx,
  config: Config,
  request: Pick<AcceptMessage, 'sessionKey' | 'sessionId' | 'agentId'>,
): Promise<MessagePlace | Refusal> {
  const { agentIds, defaultAgentId, mainKey } = keySettings(config);
  const agentId = request.agentId ?? defaultAgentId;
  const text = request.sessionKey ?? request.sessionId;
  const viewer = { agentId, currentKey: undefined, namesShared: true };
  const found: LookUp =
    text === undefined
      ? await lookUpMain(tx, config, agentId)
      : await lookUpSession(tx, config, { text, viewer });
  if (found.type === 'malformed') return refuse('malformed', found.error);
  if (found.type === 'session') {
    const place = refuseOtherAgent(request.agentId, found);
    const stale = staleRefusal(request, found);
    return stale === undefined ? place : { ...place, stale };
  }
  if (isOfAnother(request, undefined)) return notTogether(request);
  if (request.sessionKey === undefined || found.canonicalKey === undefined) {
    const list = text === undefined ? 'agents.list' : 'sessions.list';
    return refuse('not_found', `${found.what} not found; see ${list}`);
  }
  const creation = mayOperatorCreate(found.canonicalKey, { mainKey, agentIds });
  if (!creation.ok) return refuse('no_creation', creation.error);
  const { agentId: owner } = creation;
  return refuseOtherAgent(request.agentId, { key: found.canonicalKey, agentId: owner });
}

/** What refuses a sessionId that is not that of the session as it is now. */
function staleRefusal(
  request: Pick<AcceptMessage, 'sessionKey' | 'sessionId'>,
  { sessionId, session }: FoundSession,
): Refusal | undefined {
  if (isOfAnother(request, session)) return notTogether(request);
  if (session === undefined || sessionId === session.sessionId) return undefined;
  const current = session.sessionId;
  const error = `sessionId ${sessionId} is from before a reset; the current sessionId is ${current}`;
  return refuse('old_transcript', error);
}

/** Whether key and sessionId are both given, and are not of one session as it is. */
function isOfAnother(
  { sessionKey, sessionId }: Pick<AcceptMessage, 'sessionKey' | 'sessionId'>,
  session: SessionRow | undefined,
): boolean {
  if (sessionKey === undefined || sessionId === undefined) return false;
  return session?.sessionId !== foldUuid(sessionId.trim());
}

function notTogether({
  sessionKey = '',
  sessionId = '',
}: Pick<AcceptMessage, 'sessionKey' | 'sessionId'>): Refusal {
  const error = `sessionId "${briefly(sessionId)}" is not that of session "${briefly(sessionKey)}"; give one of them`;
  return refuse('not_found', error);
}

/** Returns what refuses a message to this session, or undefined. */
export function messageRefusal(config: Config, session: SessionRow): Refusal | undefined {
  return closureRefusal(config, session) ?? sendPolicyRefusal(config, session);
}

/** What refuses an owner's command too: a session that is closed, or that no agent has. */
export function closureRefusal(config: Config, session: SessionRow): Refusal | undefined {
  const closure = closureOf(session);
  if (closure !== undefined) {
    return refuse(closure, `session ${session.key} is ${closure}; it takes no messages`);
  }
  if (findAgent(config, session.agentId) === undefined) {
    const error = `agent ${session.agentId} of session ${session.key} is not configured; add it to agents.list`;
    return refuse('no_agent', error);
  }
  return undefined;
}

/** An operator's code for a rule; every other one is `invalid_request` (B6). */
const CODES: Partial<Record<RefusalRule, ErrorCode>> = {
  not_found: 'not_found',
  no_creation: 'not_found',
  queue_cap: 'unavailable',
};

/** Returns the error that tells an operator of a refusal, its rule in the details: no session is a secret to one. */
export function refusedOperator({ rule, error }: Refusal): GatewayError {
  return new GatewayError(CODES[rule] ?? 'invalid_request', error, { details: { rule } });
}

function refuse(rule: RefusalRule, error: string): Refusal {
  return { status: 'error', error, rule };
}
