/**
 * What a rule of `session.sendPolicy` can reach: whether any session key fits it, whether another rule
 * covers it, whether two can meet. Says nothing that it cannot be sure of.
 */
import { fold } from './key-grammar.ts';
import { canonicalKey } from './keys.ts';
import { type SendPolicyRule, toChatType, withoutAgent } from './send-policy.ts';

/** A rule with its texts in the form in which they are compared; absent = no condition. */
export interface RuleReach {
  channel?: string;
  chatType?: string;
  /** beginning of the key behind `agent:<id>:` */
  body?: string;
  /** beginning of the whole key */
  raw?: string;
}

/** Returns what the rule asks of a session; an empty beginning asks nothing. */
export function reachOf({ match = {} }: SendPolicyRule): RuleReach {
  const body = fold(match.keyPrefix ?? '');
  const raw = fold(match.rawKeyPrefix ?? '');
  return {
    ...(match.channel === undefined ? {} : { channel: fold(match.channel) }),
    ...(match.chatType === undefined ? {} : { chatType: toChatType(match.chatType) ?? '' }),
    ...(body === '' ? {} : { body }),
    ...(raw === '' ? {} : { raw }),
  };
}

/** Returns whether every session that `inner` fits is one that `outer` fits. */
export function isWithin(inner: RuleReach, outer: RuleReach): boolean {
  return (
    (outer.channel === undefined || outer.channel === inner.channel) &&
    (outer.chatType === undefined || outer.chatType === inner.chatType) &&
    (outer.body === undefined ||
      bodiesOf(inner).some((body) => body.startsWith(outer.body ?? ''))) &&
    (outer.raw === undefined || inner.raw?.startsWith(outer.raw) === true)
  );
}

/** Returns false only when no session can fit both. */
export function canMeet(a: RuleReach, b: RuleReach): boolean {
  return (
    canBeSame(a.channel, b.channel) &&
    canBeSame(a.chatType, b.chatType) &&
    canBeginWith([a.raw, b.raw]) &&
    canBeginWith([...bodiesOf(a), ...bodiesOf(b)])
  );
}

/** Returns whether some session key can begin with this, behind `agent:<id>:` where it has one. */
export function canKeyBegin({ body, mainKey }: { body: string; mainKey: string }): boolean {
  const options = { mainKey, agentId: 'main' };
  // Whatever follows: the prefix may end a key, or within a word or an id of it, or before one.
  return ['', 'x', ':x', 'x:x'].some((rest) => {
    const found = canonicalKey(`agent:main:${body}${rest}`, options);
    return found.ok && withoutAgent(found.key.toLowerCase()).startsWith(body);
  });
}

/** Returns whether some whole session key can begin with this. */
export function canRawKeyBegin({ raw, mainKey }: { raw: string; mainKey: string }): boolean {
  const behind = bodyBehindAgent(raw);
  if (behind !== undefined) return behind === '' || canKeyBegin({ body: behind, mainKey });
  if (/^agent:[a-z0-9_-]{0,64}$/.test(raw) || 'agent:'.startsWith(raw)) return true;
  if (WHOLE_KEYS.some((key) => key.startsWith(raw))) return true;
  return BARE_STARTS.some((start) => raw.startsWith(start)) && canKeyBegin({ body: raw, mainKey });
}

/** Keys that stand without an agent in front (B2.1). */
const BARE_STARTS = ['cron:', 'hook:', 'node-', 'node:'];
const WHOLE_KEYS = [...BARE_STARTS, 'global', 'unknown'];

/** The beginnings of the body that a rule asks for; each of its two fields may name one. */
function bodiesOf({ body, raw }: RuleReach): string[] {
  const ofRaw = raw === undefined ? undefined : bodyInRaw(raw);
  return [body, ofRaw].filter((one) => one !== undefined);
}

function bodyInRaw(raw: string): string | undefined {
  // Of `agent:ma` or `ag` nothing is known behind the agent.
  if ('agent:'.startsWith(raw) || raw.startsWith('agent:')) return bodyBehindAgent(raw);
  return raw;
}

/** Undefined where the agent id does not end within the text. */
function bodyBehindAgent(raw: string): string | undefined {
  return /^agent:[a-z0-9_-]{1,64}:(.*)$/s.exec(raw)?.[1];
}

function canBeSame(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

/** One text can begin with all of these only when each is the beginning of the longest. */
function canBeginWith(starts: readonly (string | undefined)[]): boolean {
  const known = starts.filter((start) => start !== undefined);
  const longest = known.reduce((a, b) => (b.length > a.length ? b : a), '');
  return known.every((start) => longest.startsWith(start));
}
