/** From the stores of all agents to the sessions that can be taken, each under its one canonical key. */
import { canonicalKey } from '../../core/keys.ts';
import type { SessionScopeSetting } from '../../core/keys.ts';
import type { LeftItem } from './import-report.ts';
import { parseSessionEntry } from './parse-session-entry.ts';
import type { SessionEntry } from './parse-session-entry.ts';
import { asRecord } from './source-files.ts';

/** How keys are read; of the configuration that the sessions will live under. */
export interface KeyRules {
  mainKey: string;
  scope: SessionScopeSetting;
  defaultAgentId: string;
}

/** One `sessions.json`. */
export interface SourceStore {
  /** agent that the folder is named after */
  agentId: string;
  /** path below the imported folder */
  file: string;
  entries: Record<string, unknown>;
}

export interface SourceSession extends SessionEntry {
  key: string;
  agentId: string;
  store: SourceStore;
  /** key as written */
  name: string;
}

/** Returns the sessions, newest first where two claim one key or one transcript, and what is left. */
export function collectSessions(
  stores: readonly SourceStore[],
  rules: KeyRules & { now: number },
): { sessions: SourceSession[]; left: LeftItem[] } {
  const left: LeftItem[] = [];
  const candidates: SourceSession[] = [];
  for (const store of stores) {
    for (const [name, value] of Object.entries(store.entries)) {
      const read = readSession(store, { name, value, rules });
      if ('reason' in read) left.push({ file: store.file, name, reason: read.reason });
      else candidates.push(read);
    }
  }
  candidates.sort((a, b) => b.fields.updatedAt - a.fields.updatedAt || (a.name < b.name ? -1 : 1));
  const byKey = new Map<string, SourceSession>();
  const byId = new Map<string, SourceSession>();
  for (const session of candidates) {
    const { key, name, store, fields } = session;
    const twin = byKey.get(key);
    const sharer = byId.get(fields.sessionId);
    const file = store.file;
    if (twin)
      left.push({ file, name, reason: `is another spelling of ${twin.name}, which is newer` });
    else if (sharer) left.push({ file, name, reason: `has the sessionId of ${sharer.name}` });
    else {
      byKey.set(key, session);
      byId.set(fields.sessionId, session);
    }
  }
  return { sessions: [...byKey.values()], left };
}

function readSession(
  store: SourceStore,
  { name, value, rules }: { name: string; value: unknown; rules: KeyRules & { now: number } },
): SourceSession | { reason: string } {
  const canonical = readKey(name, { store, value, rules });
  if (!canonical.ok) return { reason: canonical.error };
  const parsed = parseSessionEntry(value, rules);
  if (!parsed.ok) return { reason: parsed.reason };
  const { entry } = parsed;
  const owner = canonical.key === 'global' ? rules.defaultAgentId : canonical.agentId;
  return { ...entry, key: canonical.key, agentId: owner ?? store.agentId, store, name };
}

function readKey(
  name: string,
  { store, value, rules }: { store: SourceStore; value: unknown; rules: KeyRules },
): ReturnType<typeof canonicalKey> {
  const options = { mainKey: rules.mainKey, scope: rules.scope, agentId: store.agentId };
  if (name.trim().toLowerCase() === 'global') {
    if (rules.scope === 'global') return canonicalKey('main', options);
    return {
      ok: false,
      error: 'is the shared session of session.scope "global", which is not set',
    };
  }
  // The oldest form wrote groups without agent and channel.
  const bareGroup = /^group:(.+)$/is.exec(name.trim());
  const entry = asRecord(value);
  const channel = [entry?.['channel'], entry?.['provider'], entry?.['lastChannel']]
    .filter((word) => typeof word === 'string')
    .find((word) => /^[a-z0-9_-]+$/i.test(word));
  if (bareGroup && channel !== undefined) {
    return canonicalKey(`agent:${store.agentId}:${channel}:group:${bareGroup[1]}`, options);
  }
  return canonicalKey(name, options);
}
