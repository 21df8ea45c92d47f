/** `sessions.create`: the session of a client that has no runtime of ours, made once and found again. */
import { closureOf } from '../../core/access.ts';
import { clientKeyOf } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { ClientSessionOpened } from '../../protocol/answers/session-answers.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { keySettings } from '../sessions/key-settings.ts';
import { lookUpSession } from '../sessions/look-up-session.ts';
import { newPlaceOf, type OperatorPlace, refuseOtherAgent } from '../sessions/operator-place.ts';
import { ensureSession } from '../sessions/session-rows.ts';

export interface OpenClientSession {
  /** absent = a key made of agent and client name */
  key?: string;
  clientName?: string;
  /** absent = the default agent */
  agentId?: string;
  /** of a session that is made now; absent = the client's name */
  displayName?: string;
}

/** Makes or finds the session. Rejects a key under which no message could make one either (A4), and a closed one. */
export async function openClientSession(
  context: ServiceContext,
  request: OpenClientSession,
): Promise<ClientSessionOpened> {
  const config = context.config();
  // a client that comes back, as each request over HTTP does, writes nothing
  const found = await context.store.read((tx) => findOpen(tx, config, request));
  if (found !== undefined) return found;
  const opened = await context.store.write('open-session', async (tx) => {
    const place = await placeOf(tx, config, request);
    const before = await tx.sessions.get(place.key);
    const session = await ensureSession(tx, config, place);
    const created = before?.sessionId !== session.sessionId;
    const displayName = request.displayName ?? request.clientName;
    if (created && displayName !== undefined) await tx.sessions.update(place.key, { displayName });
    return { key: session.key, sessionId: session.sessionId, created };
  });
  if (opened.created) context.events.emit({ type: 'session_changed', sessionKey: opened.key });
  return opened;
}

async function findOpen(
  tx: ReadTx,
  config: Config,
  request: OpenClientSession,
): Promise<ClientSessionOpened | undefined> {
  const { key } = await placeOf(tx, config, request);
  const session = await tx.sessions.get(key);
  if (session === undefined || closureOf(session) !== undefined) return undefined;
  return { key, sessionId: session.sessionId, created: false };
}

async function placeOf(
  tx: ReadTx,
  config: Config,
  request: OpenClientSession,
): Promise<OperatorPlace> {
  const { clientName: name = 'client', agentId = keySettings(config).defaultAgentId } = request;
  const text = request.key ?? clientKeyOf({ agentId, name });
  const viewer = { agentId, currentKey: undefined, namesShared: true };
  const found = await lookUpSession(tx, config, { text, viewer });
  if (found.type === 'malformed') throw new GatewayError('invalid_request', found.error);
  if (found.type === 'session') {
    if (found.closure === undefined) return refuseOtherAgent(request.agentId, found);
    const why = `session ${found.key} is ${found.closure} and cannot act; use another key`;
    throw new GatewayError('invalid_request', why);
  }
  if (found.canonicalKey === undefined)
    throw new GatewayError('not_found', `${found.what} not found; see sessions.list`);
  return refuseOtherAgent(request.agentId, newPlaceOf(config, found.canonicalKey));
}
