/**
 * Session keys (A4): one canonical form and what can be told from it. Every entrance passes a key
 * through `canonicalKey` before it is looked up; look-up is exact from there on.
 */
import type { ChatType, SessionKind } from '../protocol/words.ts';
import { fold, parseKeyBody } from './key-grammar.ts';
import type { KeyBody, KeyForm } from './key-grammar.ts';
import { briefly } from '../util/briefly.ts';

export { foldUuid, isUuid } from './key-grammar.ts';
export type { KeyForm } from './key-grammar.ts';

/** `session.scope`: `global` = all direct chats share the row `global`. */
export type SessionScopeSetting = 'per-sender' | 'global';

export type CanonicalKey =
  /** `agentId`: the agent that the text names, absent for a bare `cron:`, `hook:` or `node-` key */
  { ok: true; key: string; agentId?: string } | { ok: false; error: string };

export interface ParsedKey {
  form: KeyForm;
  agentId?: string;
  /** channel that the key itself names */
  channel?: string;
  /** opaque id, as given */
  id?: string;
  accountId?: string;
  threadId?: string;
}

/** Longest key that is accepted, in UTF-16 units. */
const MAX_KEY_LENGTH = 512;
/** Longest name of a client in its key. */
const MAX_CLIENT_NAME = 64;
/** Control characters, and those that show nothing or turn the order of what is shown (U+202E): two keys that look alike are one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const FULL_KEY_HINT = 'pass the full key, such as agent:<agentId>:<channel>:group:<id>';

/** Returns whether a caller may give this text as an agent id: 1 to 64 of `A-Z a-z 0-9 _ -`. */
export function isValidAgentId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text.trim());
}

/** Returns the stored form of any agent id: folded, other characters as `-`, `main` when nothing is left. */
export function normaliseAgentId(text: string): string {
  const id = fold(text)
    .replace(/[^a-z0-9_-]+/g, '-')
    .slice(0, 64)
    .replace(/^-+|-+$/g, '');
  return id === '' ? 'main' : id;
}

/** Returns the key of an agent's main session. */
export function mainKeyOf(
  agentId: string,
  mainKey: string,
  scope: SessionScopeSetting = 'per-sender',
): string {
  return scope === 'global' ? 'global' : `agent:${normaliseAgentId(agentId)}:${fold(mainKey)}`;
}

/**
 * Returns the one spelling under which a key is stored and looked up, or why the text is no key.
 * `agentId` is the agent for which a bare `main` stands.
 */
export function canonicalKey(
  text: string,
  options: { mainKey: string; agentId: string; scope?: SessionScopeSetting },
): CanonicalKey {
  const given = text.trim();
  const mainKey = fold(options.mainKey);
  const scope = options.scope ?? 'per-sender';
  const flaw = flawOf(given);
  if (flaw !== undefined) return { ok: false, error: flaw };
  const parts = /^agent\s*:([^:]*):?(.*)$/is.exec(given);
  if (!parts) return canonicalBareKey(given, { ...options, mainKey, scope });
  const [, rawId = '', rest = ''] = parts;
  if (!isValidAgentId(rawId)) {
    return { ok: false, error: 'session key: the agent id must be 1 to 64 of A-Z a-z 0-9 _ -' };
  }
  const agentId = fold(rawId);
  const body =
    isReserved(rest) || /^\s*agent\s*:/i.test(rest) ? undefined : parseKeyBody(rest, mainKey);
  if (body === undefined) {
    return { ok: false, error: `session key: nothing usable behind "agent:${agentId}:"` };
  }
  if (body.form === 'main') return { ok: true, key: mainKeyOf(agentId, mainKey, scope), agentId };
  return { ok: true, key: isBareForm(body) ? body.text : `agent:${agentId}:${body.text}`, agentId };
}

function canonicalBareKey(
  given: string,
  options: { mainKey: string; agentId: string; scope: SessionScopeSetting },
): CanonicalKey {
  if (isReserved(given)) return { ok: false, error: `unknown session "${briefly(fold(given))}"` };
  const body = parseKeyBody(given, options.mainKey);
  if (body?.form === 'main') {
    const agentId = normaliseAgentId(options.agentId);
    return { ok: true, key: mainKeyOf(agentId, options.mainKey, options.scope), agentId };
  }
  if (body !== undefined && isBareForm(body)) return { ok: true, key: body.text };
  return { ok: false, error: `not a session key; ${FULL_KEY_HINT}` };
}

function flawOf(given: string): string | undefined {
  if (given === '') return 'session key: must not be empty';
  if (given.length > MAX_KEY_LENGTH) return `session key: longer than ${MAX_KEY_LENGTH} characters`;
  if (!given.isWellFormed()) return 'session key: is not well-formed Unicode';
  if (UNSEEN.test(given))
    return 'session key: must not contain control characters or invisible ones';
  return undefined;
}

function isReserved(text: string): boolean {
  return fold(text) === 'global' || fold(text) === 'unknown';
}

/** Cron, hook and node keys are stored without the agent; the row records its owner. */
function isBareForm(body: KeyBody): boolean {
  return body.form === 'cron' || body.form === 'hook' || body.form === 'node';
}

/** Returns what a canonical key says about itself; text that is no key is of form `other`. */
export function parseKey(
  key: string,
  options: { mainKey: string } = { mainKey: 'main' },
): ParsedKey {
  if (key === 'global' || key === 'unknown') return { form: key };
  const prefix = /^agent:([^:]*):/.exec(key);
  const body = parseKeyBody(prefix ? key.slice(prefix[0].length) : key, fold(options.mainKey));
  if (body === undefined || (!prefix && !isBareForm(body))) return { form: 'other' };
  const { text: _, ...parts } = body;
  return prefix?.[1] === undefined ? parts : { ...parts, agentId: prefix[1] };
}

/** Returns whether the key is one of a spawned session. */
export function isSubagentKey(key: string): boolean {
  return parseKey(key).form === 'subagent';
}

/**
 * Returns whether the key is one of a client without a runtime of ours: what is sent there is kept in
 * an inbox until the client takes it.
 */
export function isClientKey(key: string): boolean {
  return parseKey(key).form === 'mcp';
}

/** Returns the key of a client that has a name and no key: other characters than `a-z 0-9 . _ -` become `-`. */
export function clientKeyOf(client: { agentId: string; name: string }): string {
  const name = fold(client.name)
    .replace(/[^a-z0-9._-]+/g, '-')
    .slice(0, MAX_CLIENT_NAME)
    .replace(/^-+|-+$/g, '');
  return `agent:${normaliseAgentId(client.agentId)}:mcp:${name === '' ? 'client' : name}`;
}

/** What in a name would be grammar of the key, or is not kept in one. */
const NO_PART_OF_A_NAME = /[%:\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^\s+|\s+$/gu;

/** Returns the key of somebody whom a program knows by this name: whatever it is made of it is a name, and another one is another key. */
export function userKeyOf(of: { agentId: string; program: string; user: string }): string {
  const name = of.user.replace(NO_PART_OF_A_NAME, encodeURIComponent);
  return `agent:${normaliseAgentId(of.agentId)}:${of.program}:${name}`;
}

/** Returns the kind that a key stands for (B2.4). A row's recorded kind wins over it. */
export function kindOf(
  key: string,
  options: { mainKey: string; chatType?: ChatType | null | undefined },
): SessionKind {
  const { form } = parseKey(key, options);
  if (form === 'main' || form === 'global') return 'main';
  if (form === 'cron' || form === 'hook' || form === 'node') return form;
  if (form === 'group' || form === 'channel' || form === 'room') return 'group';
  return options.chatType === 'group' || options.chatType === 'channel' ? 'group' : 'other';
}

/** Returns the chat type: the recorded one, else the one that the key names. */
export function chatTypeOf(session: {
  key: string;
  chatType?: ChatType | null | undefined;
}): ChatType {
  if (session.chatType) return session.chatType;
  const { form } = parseKey(session.key);
  if (form === 'group') return 'group';
  return form === 'channel' || form === 'room' ? 'channel' : 'direct';
}

/** Returns the channel that a session shows (B2.5, A4). */
export function channelOf(session: {
  key: string;
  kind: SessionKind;
  channel?: string | null | undefined;
  lastChannel?: string | null | undefined;
}): string {
  if (session.kind === 'cron' || session.kind === 'hook' || session.kind === 'node') {
    return 'internal';
  }
  const parsed = parseKey(session.key);
  if (session.kind === 'group' && parsed.form !== 'subagent') {
    return fold(session.channel ?? '') || parsed.channel || 'unknown';
  }
  return fold(session.lastChannel ?? '') || 'unknown';
}

/** Returns the key as the tools of `agentId` show it: its own main session is `main`. */
export function displayKey(
  key: string,
  viewer: { agentId: string; mainKey: string; scope?: SessionScopeSetting },
): string {
  if (viewer.scope === 'global' && key === 'global') return 'main';
  return key === mainKeyOf(viewer.agentId, viewer.mainKey) ? 'main' : key;
}

/** Returns the key as a model is told it: the shared session has a name for the tools that is not its key. */
export function toldKey(key: string, scope: SessionScopeSetting): string {
  return scope === 'global' && key === 'global' ? 'main' : key;
}

/** Returns whether `agent` and `chat.send` may create a session under this canonical key, or why not (A4). */
export function mayOperatorCreate(
  key: string,
  options: { mainKey: string; agentIds: readonly string[] },
): { ok: true; agentId: string } | { ok: false; error: string } {
  const { form, agentId, channel } = parseKey(key, options);
  if (form === 'subagent' || form === 'cron' || form === 'hook' || form === 'node') {
    return { ok: false, error: `a message cannot create a ${form} session: ${briefly(key)}` };
  }
  const isChatless = form === 'group' && channel === undefined;
  const isAlias = form === 'other' && fold(key) === `agent:${agentId}:current`;
  if (form === 'global' || form === 'unknown' || agentId === undefined || isChatless || isAlias) {
    return { ok: false, error: `unknown session ${briefly(key)}; ${FULL_KEY_HINT}` };
  }
  if (!options.agentIds.includes(agentId)) {
    const known = options.agentIds.join(', ');
    return { ok: false, error: `no agent "${agentId}" is configured; configured: ${known}` };
  }
  return { ok: true, agentId };
}
