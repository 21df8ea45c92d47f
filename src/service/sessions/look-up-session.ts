/** The one look-up of A4: alias, exact key, sessionId, in this order, for every door. */
import { type Closure, closureOf } from '../../core/access.ts';
import {
  type CanonicalKey,
  canonicalKey,
  foldUuid,
  isUuid,
  mainKeyOf,
  parseKey,
} from '../../core/keys.ts';
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
  /** `otherwise`: what the same words would have met were there no such session */
  (FoundSession & { otherwise: NotFound }) | NotFound;
export type NotFound =
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
  /** true: the operator, whose answers name the shared session by its key */
  namesShared?: boolean;
}

/**
 * Returns the session that a key or sessionId names. Says nothing about who may see it. Whatever is there,
 * it asks the same of the store: a hidden session costs what a missing one does (AC7).
 */
export async function lookUpSession(
  tx: ReadTx,
  config: Config,
  { text, viewer }: { text: string; viewer: LookUpViewer },
): Promise<LookUp> {
  const given = text.trim();
  const { mainKey, scope } = keySettings(config);
  if (given.toLowerCase() === 'current' && viewer.currentKey !== undefined)
    return lookUpKey(tx, config, { key: viewer.currentKey, name: given, viewer });
  const isShared =
    viewer.namesShared === true && scope === 'global' && given.toLowerCase() === 'global';
  const canonical = canonicalKey(isShared ? mainKey : given, {
    mainKey,
    scope,
    agentId: viewer.agentId,
  });
  const otherwise = notFound(given, canonical);
  const byKey = canonical.ok
    ? await lookUpKey(tx, config, { ...canonical, name: given, viewer })
    : undefined;
  const byId = await lookUpSessionId(tx, foldUuid(given));
  if (byKey?.type === 'session') return { ...byKey, otherwise };
  return byId !== undefined && isFound(byId, viewer) ? { ...byId, otherwise } : otherwise;
}

function notFound(given: string, canonical: CanonicalKey): NotFound {
  const what = `session "${briefly(given)}"`;
  if (canonical.ok) {
    return { type: 'missing', what, agentId: canonical.agentId, canonicalKey: canonical.key };
  }
  if (isUuid(given)) return { type: 'missing', what, agentId: undefined };
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
  const { form, agentId: named } = parseKey(key, settings);
  const what = `session "${briefly(name)}"`;
  const otherwise = { type: 'missing', what, agentId: agentId ?? named } as const;
  if (session !== undefined && (await isThere(tx, session, viewer))) {
    // agent:ops:cron:j1 names the job of ops; the bare row may belong to another agent
    const isOther = agentId !== undefined && key !== 'global' && session.agentId !== agentId;
    if (isOther) return otherwise;
    const { agentId: owner, sessionId } = session;
    const closure = closureOf(session);
    return { type: 'session', key, agentId: owner, session, sessionId, closure, otherwise };
  }
  const owner = form === 'global' ? settings.defaultAgentId : named;
  if ((form === 'main' || form === 'global') && owner && settings.agentIds.includes(owner)) {
    const found = { type: 'session', key, agentId: owner, session: undefined } as const;
    return { ...found, sessionId: undefined, otherwise };
  }
  return otherwise;
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
  // asked without a window too: one that is hidden costs no more (AC7)
  const session = await tx.sessions.get(window?.sessionKey ?? '');
  if (window === undefined || session === undefined || window.purgeAt !== null) return undefined;
  const { key, agentId } = session;
  const closure = window.deletedAt === null ? closureOf(session) : 'deleted';
  return { type: 'session', key, agentId, session, sessionId, closure };
}
