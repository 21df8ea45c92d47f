/** The one look-up of A4: alias, exact key, sessionId, in this order, for every door. */
import { type Closure, closureOf } from '../../core/access.ts';
import { canonicalKey, isUuid, mainKeyOf, parseKey } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { keySettings } from './key-settings.ts';
import { briefly } from '../../util/briefly.ts';

/** A session that is there, or the main session of a configured agent whose row is not made yet. */
export interface FoundSession {
  type: 'session';
  key: string;
  agentId: string;
  /** undefined = main session without a row; acceptance makes it */
  session: SessionRow | undefined;
  /** the transcript asked for: an older one of the key when an older sessionId was given */
  sessionId: string | undefined;
  /** of the session, or of the transcript asked for alone */
  closure?: Closure | undefined;
}
export type LookUp =
  | FoundSession
  /** `agentId`: the agent that the text names, undefined when it names none */
  /** `canonicalKey`: the key under which the session would be, when the text is a well-formed key */
  | { type: 'missing'; what: string; agentId: string | undefined; canonicalKey?: string }
  | { type: 'malformed'; error: string };

/** Whose words `main` and `current` are. */
export interface LookUpViewer {
  agentId: string;
  /** what `current` stands for; undefined = nothing */
  currentKey: string | undefined;
  /** true: the operator, who finds deleted sessions; to all others they are not there */
  findsDeleted?: boolean;
}

/** Returns the session that a key or sessionId names. Says nothing about who may see it. */
export async function lookUpSession(
  tx: ReadTx,
  config: Config,
  { text, viewer }: { text: string; viewer: LookUpViewer },
): Promise<LookUp> {
  const given = text.trim();
  const { mainKey, scope } = keySettings(config);
  if (given.toLowerCase() === 'current' && viewer.currentKey !== undefined)
    return lookUpKey(tx, config, { key: viewer.currentKey, name: given, viewer });
  const canonical = canonicalKey(given, { mainKey, scope, agentId: viewer.agentId });
  if (canonical.ok) {
    const { key, agentId } = canonical;
    const byKey = await lookUpKey(tx, config, { key, name: given, agentId, viewer });
    if (byKey.type === 'session') return byKey;
  }
  const byId = await lookUpSessionId(tx, isUuid(given) ? given.toLowerCase() : given);
  if (byId !== undefined && isFound(byId, viewer)) return byId;
  if (canonical.ok) {
    const { agentId, key } = canonical;
    return { type: 'missing', what: `session "${briefly(given)}"`, agentId, canonicalKey: key };
  }
  if (isUuid(given))
    return { type: 'missing', what: `session "${briefly(given)}"`, agentId: undefined };
  return { type: 'malformed', error: canonical.error };
}

/** Returns the main session of an agent, with or without its row. */
export function lookUpMain(tx: ReadTx, config: Config, agentId: string): Promise<LookUp> {
  const { mainKey, scope, agentIds } = keySettings(config);
  const id = agentId.trim().toLowerCase();
  if (!agentIds.includes(id))
    return Promise.resolve({ type: 'missing', what: `agent "${briefly(id)}"`, agentId: id });
  const key = mainKeyOf(id, mainKey, scope);
  return lookUpKey(tx, config, { key, name: id, agentId: id, viewer: {} });
}

async function lookUpKey(
  tx: ReadTx,
  config: Config,
  {
    key,
    name,
    agentId,
    viewer,
  }: {
    key: string;
    name: string;
    agentId?: string | undefined;
    viewer: Pick<LookUpViewer, 'findsDeleted'>;
  },
): Promise<LookUp> {
  const session = await tx.sessions.get(key);
  const settings = keySettings(config);
  if (session !== undefined && (await isThere(tx, session, viewer))) {
    // agent:ops:cron:j1 names the job of ops; the bare row may belong to another agent
    const isOther = agentId !== undefined && key !== 'global' && session.agentId !== agentId;
    if (isOther) return { type: 'missing', what: `session "${briefly(name)}"`, agentId };
    return {
      type: 'session',
      key,
      agentId: session.agentId,
      session,
      sessionId: session.sessionId,
      closure: closureOf(session),
    };
  }
  const { form, agentId: named } = parseKey(key, settings);
  const owner = form === 'global' ? settings.defaultAgentId : named;
  if ((form === 'main' || form === 'global') && owner && settings.agentIds.includes(owner))
    return { type: 'session', key, agentId: owner, session: undefined, sessionId: undefined };
  return { type: 'missing', what: `session "${briefly(name)}"`, agentId: agentId ?? named };
}

/** A deleted session whose transcript is being purged is gone for the operator too. */
async function isThere(
  tx: ReadTx,
  session: SessionRow,
  viewer: Pick<LookUpViewer, 'findsDeleted'>,
): Promise<boolean> {
  if (session.deletedAt === null) return true;
  if (!isFound({ closure: closureOf(session) }, viewer)) return false;
  return (await tx.windows.get(session.sessionId))?.purgeAt === null;
}

function isFound(
  { closure }: Pick<FoundSession, 'closure'>,
  { findsDeleted = false }: Pick<LookUpViewer, 'findsDeleted'>,
): boolean {
  return closure !== 'deleted' || findsDeleted;
}

async function lookUpSessionId(tx: ReadTx, sessionId: string): Promise<FoundSession | undefined> {
  const window = await tx.windows.get(sessionId);
  if (window === undefined) return undefined;
  const session = await tx.sessions.get(window.sessionKey);
  if (session === undefined || window.purgeAt !== null) return undefined;
  const { key, agentId } = session;
  const closure = window.deletedAt === null ? closureOf(session) : 'deleted';
  return { type: 'session', key, agentId, session, sessionId, closure };
}
