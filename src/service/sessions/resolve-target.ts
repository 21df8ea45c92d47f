/** From what a session tool names to a session that its caller may use that way (A4, A5). */
import { decideAccess, refusalText, wouldShowPlace } from '../../core/access.ts';
import type { AccessDecision, AccessVerb } from '../../core/access.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { displayKey } from '../../core/keys.ts';
import type { GrantRule, Refusal } from '../../core/refusals.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { ReadTx } from '../../store/store.ts';
import { keySettings, reachOf } from './key-settings.ts';
import { lookUpMain, lookUpSession } from './look-up-session.ts';
import type { FoundSession, LookUp } from './look-up-session.ts';
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
 * and a missing one read the same. For `send`, an archived session and a sessionId from before a
 * reset are errors.
 */
export async function resolveTarget(tx: ReadTx, query: TargetQuery): Promise<TargetResolution> {
  if ('label' in query.address) return resolveLabel(tx, query, query.address);
  const found = await lookUp(tx, query, query.address);
  if (found.type === 'malformed') {
    return { ok: false, status: 'error', error: found.error, rule: 'malformed' };
  }
  if (found.type === 'missing') return missingTarget(query, found);
  const target = await toTarget(tx, query, found);
  const decision = decide(query, target);
  if (!decision.allowed) {
    const { rule, text: error } = decision;
    if (rule !== 'archived') return { ok: false, status: 'forbidden', error, rule };
    return { ok: false, status: 'error', error: `session ${target.shownKey} ${error}`, rule };
  }
  const granted = { ...target, grantedBy: decision.rule };
  return query.verb === 'send' ? sendable(granted) : granted;
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
  const rows = await tx.sessions.findByLabel({
    label: label.trim(),
    ...(owner !== undefined && { agentId: owner }),
    limit: LABEL_CANDIDATES,
  });
  const visible: ResolvedTarget[] = [];
  for (const session of rows) {
    const { key, sessionId } = session;
    const found = { type: 'session', key, agentId: session.agentId, session, sessionId } as const;
    const target = await toTarget(tx, query, found);
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

async function toTarget(
  tx: ReadTx,
  { config, caller }: TargetQuery,
  found: FoundSession,
): Promise<Omit<ResolvedTarget, 'grantedBy'>> {
  const isSelf = found.key === caller.sessionKey;
  const isDescendant =
    !isSelf &&
    found.session?.spawnedBy !== undefined &&
    found.session.spawnedBy !== null &&
    (await tx.sessions.isDescendant(caller.sessionKey, found.key));
  const shownKey = displayKey(found.key, { ...config.session, agentId: caller.agentId });
  return { ok: true, ...found, isSelf, isDescendant, shownKey };
}

function decide(query: TargetQuery, target: Omit<ResolvedTarget, 'grantedBy'>): AccessDecision {
  const { config, caller, verb } = query;
  return decideAccess({
    caller: { key: caller.sessionKey, agentId: caller.agentId },
    target,
    verb,
    ...reachOf(config),
  });
}

/** Returns the refusal for what is not there: named as missing only where the caller's level would show it (A5). */
export function missingTarget(
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
