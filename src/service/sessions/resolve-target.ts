/** From what a session tool names to a session that its caller may use that way (A4, A5). */
import { closureOf, decideAccess, refusalText, wouldShowPlace } from '../../core/access.ts';
import type { AccessDecision, AccessVerb } from '../../core/access.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { displayKey } from '../../core/keys.ts';
import type { GrantRule, Refusal } from '../../core/refusals.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { ReadTx } from '../../store/store.ts';
import { keySettings, reachOf } from './key-settings.ts';
import { lookUpMain, lookUpSession } from './look-up-session.ts';
import type { FoundSession, LookUp, NotFound } from './look-up-session.ts';
import { briefly } from '../../util/briefly.ts';

/** The three ways a tool names a session (A9). */
export type TargetAddress =
  | { sessionKey: string }
  | { label: string; agentId?: string | undefined }
  | { agentId: string };

export interface ResolvedTarget extends FoundSession {
  ok: true;
  /** the caller itself */
  isSelf: boolean;
  /** the caller spawned it, at any depth */
  isDescendant: boolean;
  /** the key as this caller's tools show it */
  shownKey: string;
  /** what lets the caller through */
  grantedBy: GrantRule;
}
export type TargetResolution = ResolvedTarget | ({ ok: false } & Refusal);

export interface TargetQuery {
  config: Config;
  caller: Pick<SessionCaller, 'sessionKey' | 'agentId'>;
  address: TargetAddress;
  verb: AccessVerb;
}

/** Most sessions of one label that are looked at. */
const LABEL_CANDIDATES = 500;

/**
 * Returns the session that the address names, or why this caller cannot use it that way. A hidden
 * and a missing one read the same and cost the same. For `send`, an archived session and a sessionId
 * from before a reset are errors.
 */
export async function resolveTarget(tx: ReadTx, query: TargetQuery): Promise<TargetResolution> {
  if ('label' in query.address) return resolveLabel(tx, query, query.address);
  const found = await lookUp(tx, query, query.address);
  const isBelow = await isBelowCaller(tx, query, found);
  if (found.type !== 'session') return unfound(query, found);
  const { otherwise, ...session } = found;
  return judge(query, { found: session, isBelow, otherwise });
}

/** Returns the session of a run that a caller names, or why not: the run of a hidden session is as good as none. */
export async function resolveRunTarget(
  tx: ReadTx,
  query: Omit<TargetQuery, 'address'>,
  { runId, sessionKey }: { runId: string; sessionKey: string | undefined },
): Promise<TargetResolution> {
  const session = await tx.sessions.get(sessionKey ?? '');
  const isBelow = await tx.sessions.isDescendant(query.caller.sessionKey, session?.key ?? '');
  const what = `run ${briefly(runId)}`;
  const otherwise = { type: 'missing', what, agentId: undefined } as const;
  if (session === undefined) return unfound(query, otherwise);
  const { key, agentId, sessionId } = session;
  const closure = closureOf(session);
  const found = { type: 'session', key, agentId, session, sessionId, closure } as const;
  return judge(query, { found, isBelow, otherwise });
}

/** Asked whatever was found, and also of what was not (AC7). */
function isBelowCaller(
  tx: ReadTx,
  { caller }: Pick<TargetQuery, 'caller'>,
  found: LookUp,
): Promise<boolean> {
  const key = found.type === 'session' ? found.key : '';
  return tx.sessions.isDescendant(caller.sessionKey, key);
}

function judge(
  query: Omit<TargetQuery, 'address'>,
  { found, isBelow, otherwise }: { found: FoundSession; isBelow: boolean; otherwise: NotFound },
): TargetResolution {
  const target = toTarget(query, found, isBelow);
  const decision = decide(query, target);
  if (!decision.allowed) {
    const { rule, text } = decision;
    // in the very words for what is not there
    if (rule !== 'archived') return { ...unfound(query, otherwise), rule };
    return { ok: false, status: 'error', error: `session ${target.shownKey} ${text}`, rule };
  }
  const granted = { ...target, grantedBy: decision.rule };
  return query.verb === 'send' ? sendable(granted) : granted;
}

function unfound(
  query: Pick<TargetQuery, 'config' | 'caller'>,
  found: NotFound,
): Extract<TargetResolution, { ok: false }> {
  if (found.type === 'missing') return missingTarget(query, found);
  return { ok: false, status: 'error', error: found.error, rule: 'malformed' };
}

function lookUp(
  tx: ReadTx,
  { config, caller }: TargetQuery,
  address: Exclude<TargetAddress, { label: string }>,
): Promise<LookUp> {
  if (!('sessionKey' in address)) return lookUpMain(tx, config, address.agentId);
  const viewer = { agentId: caller.agentId, currentKey: caller.sessionKey };
  return lookUpSession(tx, config, { text: address.sessionKey, viewer });
}

async function resolveLabel(
  tx: ReadTx,
  query: TargetQuery,
  { label, agentId }: { label: string; agentId?: string | undefined },
): Promise<TargetResolution> {
  const owner = agentId?.trim().toLowerCase();
  const named = label.trim();
  const rows = await tx.sessions.findByLabel({
    label: named,
    ...(owner !== undefined && { agentId: owner }),
    limit: LABEL_CANDIDATES,
  });
  const { sessionKey: ancestorKey } = query.caller;
  const below = await tx.sessions.labelledBelow({
    label: named,
    ancestorKey,
    limit: LABEL_CANDIDATES,
  });
  const visible: ResolvedTarget[] = [];
  for (const session of rows) {
    const { key, sessionId } = session;
    const found = { type: 'session', key, agentId: session.agentId, session, sessionId } as const;
    const target = toTarget(query, found, below.includes(key));
    const decision = decide(query, target);
    if (decision.allowed) visible.push({ ...target, grantedBy: decision.rule });
  }
  const [only, second] = visible;
  if (only === undefined) {
    return missingTarget(query, { what: `label "${briefly(label)}"`, agentId: owner });
  }
  if (second === undefined) return only;
  const keys = visible.slice(0, 5).map((target) => target.shownKey);
  return {
    ok: false,
    status: 'error',
    error: `label "${briefly(label)}" is ambiguous: ${visible.length} sessions have it; pass one of their keys as sessionKey: ${keys.join(', ')}`,
    rule: 'ambiguous_label',
  };
}

function toTarget(
  { config, caller }: Pick<TargetQuery, 'config' | 'caller'>,
  found: FoundSession,
  isBelow: boolean,
): Omit<ResolvedTarget, 'grantedBy'> {
  const isSelf = found.key === caller.sessionKey;
  const shownKey = displayKey(found.key, { ...config.session, agentId: caller.agentId });
  return { ok: true, ...found, isSelf, isDescendant: isBelow && !isSelf, shownKey };
}

function decide(
  query: Omit<TargetQuery, 'address'>,
  target: Omit<ResolvedTarget, 'grantedBy'>,
): AccessDecision {
  const { config, caller, verb } = query;
  return decideAccess({
    caller: { key: caller.sessionKey, agentId: caller.agentId },
    target,
    verb,
    ...reachOf(config),
  });
}

/** Returns the refusal for what is not there, or hidden: named as missing only where the caller's level would show it (A5). */
function missingTarget(
  { config, caller }: Pick<TargetQuery, 'config' | 'caller'>,
  { what, agentId }: { what: string; agentId: string | undefined },
): Extract<TargetResolution, { ok: false }> {
  const { level, agentToAgent } = reachOf(config);
  const isShown = wouldShowPlace(level, {
    callerAgentId: caller.agentId,
    agentId,
    agentToAgent,
    agentIds: keySettings(config).agentIds,
  });
  return isShown
    ? {
        ok: false,
        status: 'error',
        error: `${what} not found; see sessions_list`,
        rule: 'not_found',
      }
    : { ok: false, status: 'forbidden', error: refusalText(level), rule: 'not_found' };
}

function sendable(target: ResolvedTarget): TargetResolution {
  const { session, sessionId, shownKey } = target;
  if (session === undefined) return target;
  if (sessionId === session.sessionId) return target;
  return {
    ok: false,
    status: 'error',
    error: `sessionId ${sessionId} is from before a reset of ${shownKey}; its current sessionId is ${session.sessionId}`,
    rule: 'old_transcript',
  };
}
